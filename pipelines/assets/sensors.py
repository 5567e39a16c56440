"""The sensors: start a run for webhooks, tell of runs that died, and show what commands did.

Dagster reads the annotations, so this file does not postpone them.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import dagster as dg

from pipelines.assets.dev import any_alive, fail_dead_runs
from pipelines.assets.flow import RELEASE, key_of
from pipelines.clock import utc_now
from pipelines.inbox.deliveries import last_delivery
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.ingest.lock import RunLockedError, lock_holder, run_lock
from pipelines.record import KINDS_OF_RUNS, WEBHOOKS, Run, RunKind, new_run, runs
from pipelines.run.under_way import look_for_dead_runs, tell
from pipelines.settings import Settings
from pipelines.settings.kinds import KINDS
from pipelines.warehouse.release.retention import deferred_until

_EVERY_SECONDS = 60


def sensors(settings: Settings, jobs: Mapping[RunKind, Any]) -> list[dg.SensorDefinition]:
    """Return all sensors; `jobs` has the job of each kind of run."""
    status = dg.DefaultSensorStatus.RUNNING if settings.schedule.is_on else dg.DefaultSensorStatus.STOPPED

    @dg.sensor(
        job=jobs[WEBHOOKS],
        minimum_interval_seconds=_EVERY_SECONDS,
        description="Starts a run for webhooks when a webhook named an id, or a 404 is due for another request.",
        default_status=status,
    )
    def webhooks_waiting() -> dg.SensorResult | dg.SkipReason:
        return _due(settings)

    @dg.sensor(
        asset_selection=[RELEASE],
        minimum_interval_seconds=_EVERY_SECONDS,
        description="Tells of runs that were killed, and shows the tables that runs of the command line changed.",
        default_status=status,
    )
    def recorded_runs(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        _fail_dead_runs(settings, context.instance)
        look_for_dead_runs(settings)
        cursor = context.cursor or ""
        ended = [run for run in runs(settings.data_dir) if run.is_told and run.id > cursor]
        shown = [event for run in ended if not run.dagster_run_id for event in events_of(run)]
        return dg.SensorResult(asset_events=shown, cursor=ended[-1].id if ended else cursor)

    @dg.run_failure_sensor(monitored_jobs=list(jobs.values()), default_status=status)
    def not_begun(context: dg.RunFailureSensorContext) -> None:
        """Tell of a run that failed before it had a record."""
        failed = context.dagster_run
        if any(run.dagster_run_id == failed.run_id for run in runs(settings.data_dir)):
            return
        kind = next(kind for kind in KINDS_OF_RUNS if kind == failed.job_name)
        run = new_run(kind, dagster_run_id=failed.run_id)
        run.error, run.ended_at = "Dagster could not start the run, see its log", run.started_at
        tell(settings, run)

    return [webhooks_waiting, recorded_runs, not_begun]


def events_of(run: Run) -> list[dg.AssetMaterialization]:
    """Return what Dagster shows of a run that it did not execute."""
    if not run.is_published:
        return []
    fetched = [
        dg.AssetMaterialization(["raw", kind], metadata={"dagster/row_count": sum(counts.values()), **counts})
        for kind, counts in run.landed.items()
    ]
    built = [
        dg.AssetMaterialization(key_of(name), metadata={"dagster/row_count": rows}) for name, rows in run.rows.items()
    ]
    return [*fetched, *built, dg.AssetMaterialization(RELEASE, metadata={"release": run.release})]


def _due(settings: Settings) -> dg.SensorResult | dg.SkipReason:
    """Return the request for one run for all that is due; its cursor is the last delivery that it acted on."""
    path = inbox_path(settings.data_dir)
    if not path.exists():
        return dg.SkipReason("no delivery has been received yet")
    if holder := lock_holder(settings.data_dir):
        return dg.SkipReason(f"a run is under way: {holder}")
    delivery = last_delivery(path)
    with WorkList(path) as work:
        entries = [work.entry(kind, id_) for kind in KINDS for id_ in work.due(kind, limit=1)]
    due = [entry.due_at for entry in entries if entry is not None and entry.due_at is not None]
    if not due:
        waiting = deferred_until(settings.data_dir / "published")
        if waiting is None or waiting > utc_now():
            return dg.SkipReason("nothing is due")
        return dg.SensorResult(run_requests=[dg.RunRequest(f"publication due {waiting}")])
    # One run per set of due entries: after a failed run they wait for the nightly one.
    key = f"deliveries to {delivery}, due since {min(due).isoformat()}"
    return dg.SensorResult(run_requests=[dg.RunRequest(run_key=key)], cursor=str(delivery))


def _fail_dead_runs(settings: Settings, instance: dg.DagsterInstance) -> None:
    """Let a killed run block the queue for no longer than a minute."""
    if not any_alive(instance) or lock_holder(settings.data_dir):
        return
    with suppress(RunLockedError), run_lock(settings.data_dir, "a look for dead runs"):
        fail_dead_runs(instance)
