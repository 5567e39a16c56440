"""Dagster runs whose process was killed: they never block the nights that follow."""

from __future__ import annotations

import datetime as dt

import dagster as dg
import pytest
from dagster import DagsterRunStatus

from pipelines.assets.dev import any_alive, fail_dead_runs


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


@pytest.mark.slow
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
