"""What Dagster shows of a run that fails, cannot start, or is run in part; and that it is told, once."""

from __future__ import annotations

import fcntl
from typing import TYPE_CHECKING

import dagster as dg
import pytest

from pipelines.assets.flow import failing_by_sentence
from pipelines.definitions import wiring
from pipelines.ingest.lock import run_lock
from pipelines.notify import active_alarms
from pipelines.partner.exchange import ServiceDown
from pipelines.record import NIGHT, WEBHOOKS, runs
from pipelines.report.page.morning import PAGE
from pipelines.run.steps import check_before_run
from pipelines.settings import SettingsError, load_settings
from pipelines.vault import new_key_file

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Give settings with a data folder and keys, and a service that nobody serves."""
    new_key_file(tmp_path / "keys.json")
    environ = {
        "DATA__DIR": str(tmp_path / "data"),
        "VAULT__KEY_FILE": str(tmp_path / "keys.json"),
        "PARTNER__BASE_URL": "http://127.0.0.1:9",
        "PARTNER__CLIENT_ID": "a client",
        "PARTNER__CLIENT_SECRET": "a secret of a client",
        "PARTNER__OUTAGE_TIMEOUT_SECONDS": "0.1",
        "NOTIFY__MIN_FREE_GB": "0",
    }
    return load_settings(environ={f"ORDERMART_{name}": value for name, value in environ.items()})


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


@dg.job
def failing() -> None:
    """Fail in both ways."""
    down()
    quoting()


def test_expected_errors_are_failures_with_their_sentence() -> None:
    """The description is the sentence; a library's error stays what it is."""
    done = failing.execute_in_process(raise_on_error=False)
    failures = {event.step_key: event for event in done.all_events if event.is_step_failure}
    shown = failures["down"].step_failure_data.user_failure_data
    assert shown is not None
    assert shown.description == "the service has failed for 120 seconds"
    assert failures["quoting"].step_failure_data.user_failure_data is None


def executed(settings: Settings, job: str, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    """Execute a job of ours."""
    return wiring(settings).resolve_job_def(job).execute_in_process(raise_on_error=False, instance=instance)


def not_begun(settings: Settings, done: dg.ExecuteInProcessResult, instance: dg.DagsterInstance) -> None:
    """Look at a run that failed as the schedule's sensor does."""
    context = dg.build_run_status_sensor_context("not_begun", done.get_run_failure_event(), instance, done.dagster_run)
    wiring(settings).resolve_sensor_def("not_begun")(context.for_run_failure())


@pytest.mark.slow
def test_a_failed_run_is_told_once(settings: Settings) -> None:
    """Nothing came: the run fails by its sentence, in Dagster, in its record, by an alarm and on the page."""
    with dg.DagsterInstance.ephemeral() as instance:
        done = executed(settings, NIGHT, instance)
        not_begun(settings, done, instance)
    (failure,) = (event.step_failure_data for event in done.all_events if event.is_step_failure)
    assert failure.user_failure_data is not None
    (run,) = runs(settings.data_dir)
    assert (run.run_state, run.dagster_run_id, run.is_told) == ("failed", done.run_id, True)
    assert run.errors == [f"build: {failure.user_failure_data.description}"]
    assert "outage" in [alarm.cause for alarm in active_alarms(settings.data_dir)]
    assert run.errors[0] in (settings.data_dir / "published" / PAGE).read_text(encoding="utf-8")


def test_a_run_that_cannot_start_says_why(settings: Settings) -> None:
    """An error before any step is shown by its sentence, to Dagster and on the page; it is told once."""
    with run_lock(settings.data_dir, "the first"):
        pass
    (settings.data_dir / "format.json").write_text('{"raw": 99}')
    with dg.DagsterInstance.ephemeral() as instance:
        done = executed(settings, WEBHOOKS, instance)
        not_begun(settings, done, instance)
    (failure,) = (event.job_failure_data for event in done.all_events if event.is_job_failure)
    assert failure.error is not None
    assert failure.error.message.startswith("pipelines.definitions.NotStarted: ")
    assert failure.error.cause is None
    (run,) = runs(settings.data_dir)
    assert "raw has format 99" in run.error
    assert [alarm.cause for alarm in active_alarms(settings.data_dir)] == ["run_failed:webhooks"]
    assert "raw has format 99" in (settings.data_dir / "published" / PAGE).read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_run_that_finds_the_lock_held_names_the_holder(settings: Settings) -> None:
    """For a run for webhooks another one under way is no failure to tell of."""
    with run_lock(settings.data_dir, "the first"):
        pass
    with dg.DagsterInstance.ephemeral() as instance, (settings.data_dir / "run.lock").open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        done = executed(settings, WEBHOOKS, instance)
    (failure,) = (event.job_failure_data for event in done.all_events if event.is_job_failure)
    assert failure.error is not None
    assert "another run holds the lock; wait for it or stop it" in failure.error.message
    assert runs(settings.data_dir) == []


def test_wrong_settings_are_said_as_by_the_command(tmp_path: Path) -> None:
    """A run of Dagster shows the command's sentences before a run."""
    settings = load_settings(environ={"ORDERMART_DATA__DIR": str(tmp_path / "data")})
    with pytest.raises(SettingsError) as said:
        check_before_run(settings)
    with dg.DagsterInstance.ephemeral() as instance:
        done = executed(settings, NIGHT, instance)
    (failure,) = (event.job_failure_data for event in done.all_events if event.is_job_failure)
    assert failure.error is not None
    assert str(said.value) in failure.error.message


@pytest.mark.slow
def test_a_run_that_dagster_could_not_start_is_told(settings: Settings) -> None:
    """A run without a record failed before any of our code ran."""
    settings.data_dir.mkdir()
    with dg.DagsterInstance.ephemeral() as instance:
        done = failing.execute_in_process(raise_on_error=False, instance=instance)
        run = done.dagster_run._replace(job_name=NIGHT)
        context = dg.build_run_status_sensor_context("not_begun", done.get_run_failure_event(), instance, run)
        for _ in range(2):
            wiring(settings).resolve_sensor_def("not_begun")(context.for_run_failure())
    (told,) = runs(settings.data_dir)
    assert told.errors == ["Dagster could not start the run, see its log"]
    assert [alarm.cause for alarm in active_alarms(settings.data_dir)] == ["run_failed"]
