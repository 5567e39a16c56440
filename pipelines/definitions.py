"""The Dagster wiring, on one page: assets, checks, the nightly job and its schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dagster as dg

from pipelines.assets.dead_runs import fail_dead_runs
from pipelines.assets.hints import HINTS, SMALL, hint_sensor
from pipelines.assets.lock import run_lock
from pipelines.assets.maintenance_asset import chores
from pipelines.assets.raw import raw_menus, raw_orders, raw_stores
from pipelines.assets.warehouse import warehouse_assets
from pipelines.settings import Settings, load_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NIGHTLY = "nightly"


def wiring(settings: Settings, progress: Callable[[str, int, int], None] | None = None) -> dg.Definitions:
    """Return everything Dagster is to know, for these settings; `progress` gets (what, done, total)."""
    assets = [raw_stores, raw_menus, raw_orders, *warehouse_assets()]
    everything = [key for asset in assets for key in asset.keys]
    nightly = dg.define_asset_job(
        NIGHTLY,
        selection=[*everything, *chores.keys],
        description="Fetch what is due, land it, build the warehouse, publish a release, tidy up.",
    )
    hints = dg.define_asset_job(
        HINTS,
        selection=everything,
        config=SMALL,
        description="The same for what webhooks named, without the list of stores and the plan of the night.",
    )
    return dg.Definitions(
        assets=[*assets, chores],
        jobs=[nightly, hints],
        sensors=[hint_sensor(settings, hints)],
        schedules=[
            dg.ScheduleDefinition(
                job=nightly,
                cron_schedule=settings.schedule.cron,
                execution_timezone=settings.schedule.timezone,
                default_status=(
                    dg.DefaultScheduleStatus.RUNNING if settings.schedule.is_on else dg.DefaultScheduleStatus.STOPPED
                ),
            )
        ],
        resources={
            "settings": dg.ResourceDefinition.hardcoded_resource(settings),
            "progress": dg.ResourceDefinition.hardcoded_resource(progress or _silent),
            "run_lock": _run_lock(settings),
        },
        executor=dg.in_process_executor,
    )


@dg.definitions
def definitions() -> dg.Definitions:
    """Load the settings that ORDERMART_CONFIG names, or the defaults, when Dagster asks."""
    return wiring(load_settings())


def _run_lock(settings: Settings) -> dg.ResourceDefinition:
    @dg.resource(description="Held for the whole run, so that two runs never write the same folder.")
    def held(context: dg.InitResourceContext) -> Iterator[Any]:
        run_id = context.run_id or "a run"
        with run_lock(settings.data_dir, f"Dagster run {run_id}"):
            if context.instance is not None:
                fail_dead_runs(context.instance, own_run_id=run_id)
            yield run_id

    return held


def _silent(_what: str, _done: int, _total: int) -> None:
    """Say nothing: a log wants no progress."""
