"""Mark Dagster runs whose process is dead as failed: one that stays STARTED queues every later run for ever.

Dagster 1.13 does not see that a worker was killed, and with one run at a time the next night waits without a word.
The holder of the run lock knows that no other run is alive.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter

_ALIVE = [DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING]
# A run gets its process, which then takes the lock, within this time.
_STARTING = timedelta(minutes=5)
_REASON = (
    "The process of this run ended without a word: killed, out of memory, or the machine went down. "
    "What it had landed is kept; the next run resumes it."
)


def any_alive(instance: dg.DagsterInstance) -> bool:
    """Tell whether Dagster takes any run for alive."""
    return bool(instance.get_run_ids(RunsFilter(statuses=[*_ALIVE, DagsterRunStatus.STARTING]), limit=1))


def fail_dead_runs(instance: dg.DagsterInstance, *, own_run_id: str = "", now: datetime | None = None) -> list[str]:
    """Mark every run that cannot be alive as failed, and return their ids. Call it only while holding the run lock.

    A run that is still starting is left alone for five minutes: it has not asked for the lock yet.
    """
    late = (now or datetime.now(UTC)) - _STARTING
    runs = instance.get_runs(RunsFilter(statuses=_ALIVE))
    records = instance.get_run_records(RunsFilter(statuses=[DagsterRunStatus.STARTING], created_before=late))
    dead = [run for run in [*runs, *(record.dagster_run for record in records)] if run.run_id != own_run_id]
    for run in dead:
        instance.report_run_failed(run, _REASON)
    return [run.run_id for run in dead]
