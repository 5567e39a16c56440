"""The Dagster wiring on one page: assets, checks, jobs, the schedule and the sensors."""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from pipelines.assets.dev import fail_dead_runs
from pipelines.assets.flow import UNDER_WAY, flow, sensors, table_checks
from pipelines.record import KINDS_OF_RUNS, NIGHT
from pipelines.run.under_way import NotBegunError, RunRequest, begun
from pipelines.settings import Settings, load_settings

_DESCRIPTIONS = {
    "night": "Fetch what may have changed, land it, build the warehouse, publish a release, run maintenance.",
    "webhooks": "Fetch and publish what webhooks named, without the list of stores, a plan or maintenance.",
}


class NotStarted(dg.DagsterError):
    """A run that could not begin: Dagster shows its own kind of error as it is, and wraps any other."""


def wiring(settings: Settings) -> dg.Definitions:
    """Return all Dagster definitions for these settings."""
    assets = flow(settings)
    # checks are evaluated by the function that builds, and planned for no step: a run without a build skips none
    everything = dg.AssetSelection.assets(*assets).without_checks()
    limit = {"dagster/max_runtime": str(round(settings.dagster.max_run_hours * 3600))}
    jobs = {
        kind: dg.define_asset_job(kind, selection=everything, description=_DESCRIPTIONS[kind], tags=limit)
        for kind in KINDS_OF_RUNS
    }
    schedule = settings.schedule
    status = dg.DefaultScheduleStatus.RUNNING if schedule.is_on else dg.DefaultScheduleStatus.STOPPED
    cron, zone = schedule.cron, schedule.timezone
    nightly = dg.ScheduleDefinition(job=jobs[NIGHT], cron_schedule=cron, execution_timezone=zone, default_status=status)
    return dg.Definitions(
        assets=assets,
        asset_checks=[table_checks(settings)],
        jobs=list(jobs.values()),
        sensors=sensors(settings, jobs),
        schedules=[nightly],
        resources={"settings": dg.ResourceDefinition.hardcoded_resource(settings), UNDER_WAY: _under_way(settings)},
        executor=dg.in_process_executor,
    )


@dg.definitions
def definitions() -> dg.Definitions:
    """Return the definitions for the settings that ORDERMART_CONFIG names, or for the defaults."""
    return wiring(load_settings())


def _under_way(settings: Settings) -> dg.ResourceDefinition:
    @dg.resource(
        config_schema={name: dg.Field(str, default_value="") for name in ("order_ids", "order_id_range", "menu_ids")},
        description="The run under way: it holds the run lock, writes the record, and is told when it ends.",
    )
    def held(context: dg.InitResourceContext) -> Iterator[Any]:
        of_dagster = context.run
        name = of_dagster.job_name if of_dagster else ""
        kind = next((kind for kind in KINDS_OF_RUNS if kind == name), None)
        run_id = of_dagster.run_id if of_dagster else ""
        if context.instance is not None and (found := context.instance.get_run_by_id(run_id)) and found.is_finished:
            yield None  # `dagster job execute` asks once more for the result of a run that ended
            return
        try:
            asked, holder = RunRequest(**context.resource_config), f"Dagster run {run_id}"
            with begun(
                settings, kind or NIGHT, asked, holder=holder, dagster_run_id=run_id, keeps=kind is not None
            ) as way:
                if context.instance is not None:
                    fail_dead_runs(context.instance, own_run_id=run_id)
                yield way
        except NotBegunError as error:
            raise NotStarted(str(error)) from None

    return held
