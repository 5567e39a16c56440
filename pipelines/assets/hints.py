"""Start a small run when hints wait: webhooks are answered within minutes, the night does the rest.

A run already under way, of either kind, takes the hints that waited when it began; the sensor lets it.
"""

from contextlib import suppress
from typing import Any

import dagster as dg

from pipelines.assets.dead_runs import any_alive, fail_dead_runs
from pipelines.assets.lock import RunLockedError, holder, run_lock
from pipelines.inbox.deliveries import last_delivery
from pipelines.inbox.entries import KINDS, Kind
from pipelines.inbox.worklist import WorkList
from pipelines.settings import Settings

HINTS = "hints"
_EVERY_SECONDS = 60
# A small run asks for what is due and for nothing else: no list of stores, no plan.
SMALL: dict[str, Any] = {
    "ops": {
        "raw__stores": {"config": {"lists": False}},
        "raw__orders": {"config": {"plans": False}},
    }
}


def hint_sensor(settings: Settings, job: Any) -> dg.SensorDefinition:
    """Return the sensor that starts `job` for what is due; its cursor is the last delivery that it acted on."""

    @dg.sensor(
        name="hints_waiting",
        job=job,
        minimum_interval_seconds=_EVERY_SECONDS,
        description="Starts a small run when webhooks named something, or a 404 is due again.",
        default_status=dg.DefaultSensorStatus.RUNNING if settings.schedule.is_on else dg.DefaultSensorStatus.STOPPED,
    )
    def hints_waiting(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        _fail_dead_runs(settings, context.instance)
        path = settings.data_dir / "inbox" / "worklist.sqlite"
        if not path.exists():
            return dg.SkipReason("nothing was ever received")
        if who := holder(settings.data_dir):
            return dg.SkipReason(f"a run is under way: {who}")
        delivery = last_delivery(path)
        with WorkList(path) as work:
            first: dict[Kind, list[int]] = {kind: work.due(kind, limit=1) for kind in KINDS}
            entries = [work.entry(kind, ids[0]) for kind, ids in first.items() if ids]
        dues = [entry.due_at for entry in entries if entry is not None and entry.due_at is not None]
        if not dues:
            return dg.SkipReason("nothing is due")
        # The same due entries are not asked for by two runs: after a failed one they wait for the night.
        key = f"deliveries to {delivery}, due since {min(dues).isoformat()}"
        return dg.SensorResult(run_requests=[dg.RunRequest(run_key=key, run_config=SMALL)], cursor=str(delivery))

    return hints_waiting


def _fail_dead_runs(settings: Settings, instance: dg.DagsterInstance) -> None:
    """Let a killed run block the queue for no longer than a minute."""
    if not any_alive(instance) or holder(settings.data_dir):
        return
    with suppress(RunLockedError), run_lock(settings.data_dir, "a look for dead runs"):
        fail_dead_runs(instance)
