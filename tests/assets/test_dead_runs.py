"""Dagster runs whose process was killed: they never block the nights that follow."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from typing import TYPE_CHECKING

import dagster as dg
import pytest
from dagster import DagsterRunStatus

from pipelines.assets.dead_runs import any_alive, fail_dead_runs
from pipelines.ingest.lock import lock_holder, run_lock

if TYPE_CHECKING:
    from pathlib import Path


@dg.op
def nothing() -> None:
    """Do nothing."""


@dg.job
def a_night() -> None:
    """A run to be killed."""
    nothing()


@pytest.fixture
def instance() -> dg.DagsterInstance:
    """Give an instance without any run."""
    return dg.DagsterInstance.ephemeral()


def run(instance: dg.DagsterInstance, status: DagsterRunStatus) -> str:
    """Make a run that stays in `status`, as a kill leaves it."""
    return instance.create_run_for_job(a_night, status=status).run_id


def status(instance: dg.DagsterInstance, run_id: str) -> DagsterRunStatus:
    """Return what Dagster takes a run for."""
    found = instance.get_run_by_id(run_id)
    assert found is not None
    return found.status


def test_killed_runs_are_marked_as_failed(instance: dg.DagsterInstance) -> None:
    """A run that stays STARTED or CANCELING fails with a reason; one that waits and the caller's own are left alone."""
    dead = {run(instance, DagsterRunStatus.STARTED), run(instance, DagsterRunStatus.CANCELING)}
    own, waiting = run(instance, DagsterRunStatus.STARTED), run(instance, DagsterRunStatus.NOT_STARTED)
    assert any_alive(instance)
    assert set(fail_dead_runs(instance, own_run_id=own)) == dead
    assert {status(instance, run_id) for run_id in dead} == {DagsterRunStatus.FAILURE}
    assert (status(instance, own), status(instance, waiting)) == (
        DagsterRunStatus.STARTED,
        DagsterRunStatus.NOT_STARTED,
    )
    for run_id in dead:
        (event,) = instance.all_logs(run_id)
        assert "ended without a word" in event.message


def test_a_starting_run_gets_five_minutes(instance: dg.DagsterInstance) -> None:
    """A run that has not taken the lock yet is not dead, until it had time to."""
    starting = run(instance, DagsterRunStatus.STARTING)
    assert fail_dead_runs(instance) == []
    later = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=6)
    assert fail_dead_runs(instance, now=later) == [starting]


def test_looking_at_the_lock_leaves_a_killed_runs_note(tmp_path: Path) -> None:
    """Looking, and a holder that is no run, leave the note by which the next run resumes the killed one."""
    script = (
        "import sys, time; from pathlib import Path; from pipelines.ingest.lock import run_lock\n"
        "with run_lock(Path(sys.argv[1]), 'ordermart run'): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        assert f"process {other.pid}" in (lock_holder(tmp_path) or "")
        other.kill()
    note = (tmp_path / "run.lock").read_bytes()
    assert note
    assert lock_holder(tmp_path) is None
    with run_lock(tmp_path, "ordermart land orders"):
        assert lock_holder(tmp_path) is not None
    assert (tmp_path / "run.lock").read_bytes() == note
    from pipelines.ingest.lock import resumed_since  # noqa: PLC0415

    with run_lock(tmp_path, "ordermart run"):
        assert resumed_since(tmp_path) is not None
    assert (tmp_path / "run.lock").read_bytes() == b""
