"""Dagster shows an expected error by the sentence that the terminal shows, and any other with its stack."""

from __future__ import annotations

import fcntl
from typing import TYPE_CHECKING

import dagster as dg
import pytest

from pipelines.assets.failures import failing_by_sentence
from pipelines.assets.night import is_outage, own_errors
from pipelines.assets.preflight import check_before_run
from pipelines.assets.raw import raw_stores
from pipelines.assets.run_alarms import run_alarm_sensors
from pipelines.definitions import _run_lock
from pipelines.ingest.lock import run_lock
from pipelines.partner import ServiceDown
from pipelines.report.page.morning import morning_page
from pipelines.settings import SettingsError, load_settings

if TYPE_CHECKING:
    from pathlib import Path


@dg.op
def down() -> None:
    """Fail as a run does whose service is down."""
    with failing_by_sentence():
        raise ServiceDown("the service has failed for 120 seconds")


@dg.op
def quoting() -> None:
    """Fail as a library does that quotes a document."""
    with failing_by_sentence():
        raise ValueError("cannot convert 'Jane Canary'")


@dg.op(required_resource_keys={"run_lock"})
def needing() -> None:
    """Do nothing, under the run lock."""


@dg.job
def failing() -> None:
    """Fail in both ways."""
    down()
    quoting()


def test_expected_errors_are_failures_with_their_sentence() -> None:
    """The description is the sentence, the cause still tells an outage; a library's error stays what it is."""
    done = failing.execute_in_process(raise_on_error=False)
    failures = {event.step_key: event for event in done.all_events if event.is_step_failure}
    shown = failures["down"].step_failure_data.user_failure_data
    assert shown is not None
    assert shown.description == "the service has failed for 120 seconds"
    assert failures["quoting"].step_failure_data.user_failure_data is None
    assert is_outage([failures["down"]])
    assert sorted(own_errors(done.all_events)) == [
        "down: the service has failed for 120 seconds",
        "quoting: failed, see the log",
    ]


def test_a_run_that_cannot_start_says_why(tmp_path: Path) -> None:
    """What is raised before any step is shown by its sentence, to Dagster and to who reads the alarm."""
    settings = load_settings(environ={"ORDERMART_DATA__DIR": str(tmp_path / "data")})
    with run_lock(settings.data_dir, "the first"):
        pass

    @dg.job(resource_defs={"run_lock": _run_lock(settings)})
    def locked() -> None:
        needing()

    with dg.DagsterInstance.ephemeral() as instance:
        with (settings.data_dir / "run.lock").open("rb") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            done = locked.execute_in_process(raise_on_error=False, instance=instance)
        context = dg.build_run_status_sensor_context(
            "run_failed", done.get_run_failure_event(), instance, done.dagster_run
        )
        run_alarm_sensors(settings, [locked])[0](context.for_run_failure())
    sentence = "another run holds the lock; wait for it or stop it"
    (failure,) = (event.job_failure_data for event in done.all_events if event.is_job_failure)
    assert failure.error is not None
    assert failure.error.message.strip() == f"pipelines.assets.failures.NotStarted: {sentence}"
    assert failure.error.cause is None
    assert own_errors(done.all_events) == (f"the job: {sentence}",)
    assert f"the job: {sentence}" in morning_page(settings.data_dir / "published").read_text(encoding="utf-8")


def test_wrong_settings_fail_a_step_by_their_sentence(tmp_path: Path) -> None:
    """The first step of a run shows what the command says before a run."""
    settings = load_settings(environ={"ORDERMART_DATA__DIR": str(tmp_path / "data")})
    with pytest.raises(SettingsError) as said:
        check_before_run(settings)
    needed = {"settings": settings, "progress": None, "partner": None, "run_lock": None}
    done = dg.materialize([raw_stores], resources=needed, raise_on_error=False)
    (failure,) = (event.step_failure_data for event in done.all_events if event.is_step_failure)
    assert failure.user_failure_data is not None
    assert failure.user_failure_data.description == str(said.value)
