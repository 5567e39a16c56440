"""Tell people how a run of the schedule ended: two sensors, which see runs that were killed, too.

Dagster reads the annotations, so they are not put off to strings here.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from pipelines.assets.night import is_outage, landed, own_errors
from pipelines.assets.shortfalls import shortfalls
from pipelines.notify.history import ended_run
from pipelines.report.night_alarms import after_run
from pipelines.report.page.morning import write_morning_page
from pipelines.report.summary import current_release
from pipelines.settings import Settings
from pipelines.warehouse.release.manifest import read_manifest


def run_alarm_sensors(settings: Settings, jobs: Sequence[Any]) -> list[dg.SensorDefinition]:
    """Return the sensors that send alarms, or that they are over, after each run of these jobs, the nightly first."""
    status = dg.DefaultSensorStatus.RUNNING if settings.schedule.is_on else dg.DefaultSensorStatus.STOPPED

    @dg.run_failure_sensor(name="run_failed", monitored_jobs=list(jobs), default_status=status)
    def run_failed(context: dg.RunFailureSensorContext) -> None:
        """Send alarms about a run that failed or was killed."""
        failures = [*context.get_step_failure_events(), context.failure_event]
        errors = own_errors(failures) or ("the run ended without a result",)
        after_run(
            settings,
            succeeded=False,
            is_new=False,
            is_outage=is_outage(failures),
            errors=errors,
            is_nightly=context.dagster_run.job_name == jobs[0].name,
        )
        _write_page(settings, context, jobs, is_good=False, errors=errors)

    @dg.run_status_sensor(
        name="run_succeeded",
        run_status=dg.DagsterRunStatus.SUCCESS,
        monitored_jobs=list(jobs),
        default_status=status,
    )
    def run_succeeded(context: dg.RunStatusSensorContext) -> None:
        """Send what is over and what else needs somebody, and call the heartbeat."""
        run = context.dagster_run
        logged = context.instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION)
        made = [entry.asset_materialization for entry in logged if entry.asset_materialization is not None]
        missing = shortfalls(made)
        is_new = _published_by(settings, context)
        after_run(
            settings,
            succeeded=True,
            is_new=is_new,
            is_outage=missing.is_outage,
            incomplete=missing.sentences,
            is_nightly=run.job_name == jobs[0].name,
        )
        _write_page(settings, context, jobs, is_good=not missing.sentences, is_new=is_new, landed=landed(made))

    return [run_failed, run_succeeded]


def _write_page(
    settings: Settings, context: dg.RunStatusSensorContext, jobs: Sequence[Any], *, is_good: bool, **facts: Any
) -> None:
    """Write the morning page about the run of a sensor's context."""
    run = context.dagster_run
    record = context.instance.get_run_record_by_id(run.run_id)
    ended = datetime.fromtimestamp(record.end_time, UTC) if record and record.end_time else datetime.now(UTC)
    started = datetime.fromtimestamp(record.start_time, UTC) if record and record.start_time else ended
    is_nightly = run.job_name == jobs[0].name
    if unwritten := write_morning_page(
        settings, ended_run(started, ended, is_good=is_good, is_nightly=is_nightly, **facts)
    ):
        context.log.warning(unwritten)


def _published_by(settings: Settings, context: dg.RunStatusSensorContext) -> bool:
    """Return whether the current release was published after the run began."""
    release = current_release(settings)
    manifest = read_manifest(release) if release else None
    record = context.instance.get_run_record_by_id(context.dagster_run.run_id)
    if manifest is None or record is None or record.start_time is None or not manifest.as_of:
        return False
    return datetime.fromisoformat(manifest.as_of) >= datetime.fromtimestamp(record.start_time, UTC)
