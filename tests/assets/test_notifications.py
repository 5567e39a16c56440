"""The sensor that starts a small run when notifications wait."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from typing import TYPE_CHECKING

import dagster as dg
import pytest

from pipelines.definitions import wiring
from pipelines.inbox.worklist import WorkList
from pipelines.ingest.lock import run_lock
from pipelines.record import WEBHOOKS
from pipelines.settings import load_settings
from pipelines.warehouse.release.manifest import defer

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Give settings with a data folder of their own."""
    return load_settings(environ={"ORDERMART_DATA__DIR": str(tmp_path / "data")})


def _tick(settings: Settings) -> dg.SensorResult | dg.SkipReason:
    sensor = wiring(settings).resolve_sensor_def("webhooks_waiting")
    assert sensor.job_name == WEBHOOKS  # without the list of stores and without a plan
    with dg.DagsterInstance.ephemeral() as instance:
        return sensor(dg.build_sensor_context(instance=instance))  # type: ignore[return-value]


def _work(settings: Settings) -> WorkList:
    return WorkList(settings.data_dir / "inbox" / "worklist.sqlite")


def test_sensor_skips_without_notifications(settings: Settings) -> None:
    """An inbox that never received anything, or has nothing due, starts no run."""
    assert isinstance(_tick(settings), dg.SkipReason)
    with _work(settings):
        pass
    assert isinstance(_tick(settings), dg.SkipReason)


def test_sensor_starts_one_small_run_for_waiting_notifications(settings: Settings) -> None:
    """Waiting notifications start one run without a plan; the same ones give the same run key, a later one another."""
    with _work(settings) as work:
        work.add("orders", [1, 2, 3], why="webhook")
    first = _tick(settings)
    again = _tick(settings)
    assert isinstance(first, dg.SensorResult)
    assert isinstance(again, dg.SensorResult)
    assert first.run_requests is not None
    assert again.run_requests is not None
    assert len(first.run_requests) == 1
    assert first.run_requests[0].run_key == again.run_requests[0].run_key
    with _work(settings) as work:
        work.done("orders", [1, 2, 3])
        work.add("orders", [4], why="webhook")
    later = _tick(settings)
    assert isinstance(later, dg.SensorResult)
    assert later.run_requests is not None
    assert later.run_requests[0].run_key != first.run_requests[0].run_key


def test_sensor_publishes_what_was_deferred(settings: Settings) -> None:
    """Changes that a run for webhooks left unpublished start a run once they are due, and not before."""
    with _work(settings):
        pass
    published = settings.data_dir / "published"
    published.mkdir()
    now = dt.datetime.now(dt.UTC)
    defer(published, now + dt.timedelta(minutes=5))
    assert isinstance(_tick(settings), dg.SkipReason)
    defer(published, now - dt.timedelta(seconds=1))
    due = _tick(settings)
    assert isinstance(due, dg.SensorResult)
    assert due.run_requests is not None
    assert len(due.run_requests) == 1


@pytest.mark.slow
def test_sensor_skips_while_a_run_is_under_way(settings: Settings) -> None:
    """While another process holds the lock the sensor starts nothing, and says who it is."""
    with _work(settings) as work:
        work.add("orders", [1], why="webhook")
    script = (
        "import sys, time; from pathlib import Path; from pipelines.ingest.lock import run_lock\n"
        "with run_lock(Path(sys.argv[1]), 'the night'): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(settings.data_dir)], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        skipped = _tick(settings)
        other.kill()
    assert isinstance(skipped, dg.SkipReason)
    assert "the night" in str(skipped.skip_message)
    with run_lock(settings.data_dir, "after"):
        pass
