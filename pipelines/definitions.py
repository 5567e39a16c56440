"""The Dagster wiring on one page: assets, checks, jobs, the schedule and the sensor."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import dagster as dg

from pipelines.assets.dead_runs import fail_dead_runs
from pipelines.assets.failures import failing_by_sentence
from pipelines.assets.maintenance_asset import maintenance
from pipelines.assets.notifications import NOTIFIED, SMALL, notification_sensor
from pipelines.assets.raw import raw_menus, raw_orders, raw_stores
from pipelines.assets.run_alarms import run_alarm_sensors
from pipelines.assets.storage_engines import keep_engines
from pipelines.assets.tables import table_checks, table_specs
from pipelines.assets.warehouse import warehouse_assets
from pipelines.ingest.lock import JOB, run_lock
from pipelines.ingest.session import PartnerSession
from pipelines.ingest.stop import current_stop
from pipelines.settings import Settings, load_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

NIGHTLY = "nightly"


def wiring(settings: Settings) -> dg.Definitions:
    """Return all Dagster definitions for these settings."""
    assets = _assets(settings)
    nightly, notified = _jobs(assets)
    return dg.Definitions(
        assets=[*assets, *table_specs()],
        asset_checks=[table_checks()],
        jobs=[nightly, notified],
        sensors=[notification_sensor(settings, notified), *run_alarm_sensors(settings, [nightly, notified])],
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
        resources=_resources(settings, None),
        executor=dg.in_process_executor,
    )


def job(settings: Settings, name: str, progress: Callable[[str, int, int], None] | None = None) -> dg.JobDefinition:
    """Return one job with its steps alone: a command that runs it needs no page of every table.

    `progress` gets (what, done, total).
    """
    keep_engines()
    steps = [each for each in _assets(settings) if isinstance(each, dg.AssetsDefinition)]
    definitions = dg.Definitions(
        assets=steps,
        jobs=_jobs(steps),
        resources=_resources(settings, progress),
        executor=dg.in_process_executor,
    )
    return definitions.resolve_job_def(name)


def _assets(settings: Settings) -> list[dg.AssetsDefinition | dg.AssetSpec]:
    return [raw_stores, raw_menus, raw_orders, *warehouse_assets(settings), maintenance]


def _jobs(assets: Sequence[dg.AssetsDefinition | dg.AssetSpec]) -> list[Any]:
    everything = [key for asset in assets if isinstance(asset, dg.AssetsDefinition) for key in asset.keys]
    nightly = dg.define_asset_job(
        NIGHTLY,
        selection=everything,
        description="Fetch what is due, land it, build the warehouse, publish a release, run maintenance.",
    )
    notified = dg.define_asset_job(
        NOTIFIED,
        selection=[key for key in everything if key not in maintenance.keys],
        config=SMALL,
        description="Fetch and publish what webhooks named, without the list of stores, a plan or maintenance.",
    )
    return [nightly, notified]


def _resources(settings: Settings, progress: Callable[[str, int, int], None] | None) -> dict[str, Any]:
    return {
        "settings": dg.ResourceDefinition.hardcoded_resource(settings),
        "progress": dg.ResourceDefinition.hardcoded_resource(progress or _silent),
        "partner": _partner(settings),
        "run_lock": _run_lock(settings),
    }


@dg.definitions
def definitions() -> dg.Definitions:
    """Return the definitions for the settings that ORDERMART_CONFIG names, or for the defaults."""
    keep_engines()
    return wiring(load_settings())


def _run_lock(settings: Settings) -> dg.ResourceDefinition:
    @dg.resource(description="Held for the whole run, so that two runs never write to the same folder.")
    def held(context: dg.InitResourceContext) -> Iterator[Any]:
        run_id = context.run_id or "a run"
        with ExitStack() as stack:
            with failing_by_sentence(in_step=False):
                stack.enter_context(run_lock(settings.data_dir, f"{JOB} {run_id}"))
            if context.instance is not None:
                fail_dead_runs(context.instance, own_run_id=run_id)
            try:
                yield run_id
            finally:
                # Dagster takes an interruption that nobody requested for a failure.
                if current_stop().signal and context.instance is not None and context.run is not None:
                    context.instance.report_run_canceling(context.run)

    return held


def _partner(settings: Settings) -> dg.ResourceDefinition:
    @dg.resource(description="The partner service: one connection, token and outage budget for the whole run.")
    def opened(_context: dg.InitResourceContext) -> Iterator[Any]:
        with PartnerSession(settings) as session:
            yield session

    return opened


def _silent(_what: str, _done: int, _total: int) -> None:
    """Show no progress: a log needs none."""
