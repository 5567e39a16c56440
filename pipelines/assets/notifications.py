"""Start a small run when webhook notifications are waiting, so that they are fetched within minutes.

A run that is already under way fetches what was due when it began; the sensor does not interrupt it.
"""

from contextlib import suppress
from typing import Any

import dagster as dg

from pipelines.assets.dead_runs import any_alive, fail_dead_runs
from pipelines.clock import utc_now
from pipelines.inbox.deliveries import last_delivery
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.ingest.lock import RunLockedError, lock_holder, run_lock
from pipelines.settings import Settings
from pipelines.settings.kinds import KINDS
from pipelines.warehouse.release.need import HINT, deferred_until

NOTIFIED = "notified"
_EVERY_SECONDS = 60
# A small run fetches what is due, without the list of stores and without a plan.
SMALL: dict[str, Any] = {
    "ops": {
        "raw__stores": {"config": {"lists": False}},
        "raw__orders": {"config": {"plans": False}},
        "warehouse": {"config": {"run": HINT}},
    }
}


def notification_sensor(settings: Settings, job: Any) -> dg.SensorDefinition:
    """Return the sensor that starts `job` for what is due; its cursor is the last delivery that it acted on."""

    @dg.sensor(
        name="notifications_waiting",
        job=job,
        minimum_interval_seconds=_EVERY_SECONDS,
        description="Starts a small run when a webhook named an id, or a 404 is due for another request.",
        default_status=dg.DefaultSensorStatus.RUNNING if settings.schedule.is_on else dg.DefaultSensorStatus.STOPPED,
    )
    def notifications_waiting(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        _fail_dead_runs(settings, context.instance)
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
            return dg.SensorResult(run_requests=[dg.RunRequest(f"publication due {waiting}", run_config=SMALL)])
        # One run per set of due entries: after a failed run they wait for the nightly one.
        key = f"deliveries to {delivery}, due since {min(due).isoformat()}"
        return dg.SensorResult(run_requests=[dg.RunRequest(run_key=key, run_config=SMALL)], cursor=str(delivery))

    return notifications_waiting


def _fail_dead_runs(settings: Settings, instance: dg.DagsterInstance) -> None:
    """Let a killed run block the queue for no longer than a minute."""
    if not any_alive(instance) or lock_holder(settings.data_dir):
        return
    with suppress(RunLockedError), run_lock(settings.data_dir, "a look for dead runs"):
        fail_dead_runs(instance)
