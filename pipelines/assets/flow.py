"""The assets: stores, menus and orders as landed, every table with its checks, and the release; and the sensors.

Each calls steps of `pipelines.run` on the run under way, which is a resource, and shows what their record has. Tables
and release are outputs of one function, as they are made in one commit: a step per table would commit bad rows before
a check could block them. Only what changed is yielded. Every claim about the tables is a check of its name: one for
each that blocks, one a table for all its warnings. The build evaluates them, so no step of Dagster belongs to them:
none is skipped by a run in which there is nothing to build. Dagster reads annotations at runtime: postpone none here.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from itertools import takewhile
from typing import Any

import dagster as dg

from pipelines.assets.dagster_history import (
    MADE,
    RELEASE,
    VALIDATED,
    WARNINGS,
    all_results,
    evaluations,
    events_of,
    events_of_release,
    forget_assets,
    forget_old_runs,
    key_of,
    name_of,
    news,
    results_of_own,
)
from pipelines.assets.dev import any_alive, fail_dead_runs
from pipelines.clock import utc_now
from pipelines.inbox.store import inbox_path, span
from pipelines.inbox.worklist import WorkList
from pipelines.ingest.lock import RunLockedError, lock_holder, run_lock
from pipelines.record import FETCHING, KINDS_OF_RUNS, NIGHT, WEBHOOKS, RunKind, Step, new_run, runs
from pipelines.report.page.morning import PAGE
from pipelines.report.status import next_tick
from pipelines.report.text import sentence_of
from pipelines.run.reporting import look_for_dead_runs, report_run
from pipelines.settings import Settings
from pipelines.settings.kinds import KINDS
from pipelines.warehouse.catalogue.tables import Table, tables
from pipelines.warehouse.inputs.relations import LANDED_KINDS
from pipelines.warehouse.own.models import Model, read_models
from pipelines.warehouse.release.manifest import deferred_until
from pipelines.warehouse.rows.fresh_rows import BuildBlocked


def table_checks(settings: Settings) -> dg.AssetChecksDefinition:
    """Return the declaration of all checks; executed by itself, it reports the findings of the last build."""
    specs = [spec for table in tables() for spec in _specs(table)]
    specs += [spec for model in read_models(settings).models for spec in _specs_of_own(model)]

    @dg.multi_asset_check(
        name="table_checks",
        specs=specs,
        required_resource_keys={"settings"},
        description="Reports again what the last build found; a run that builds reports it by itself.",
    )
    def table_checks(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        for each in evaluations(all_results(context.resources.settings)):
            said: dict[str, Any] = {
                name: getattr(each, name) for name in ("asset_key", "check_name", "passed", "severity", "metadata")
            }
            yield dg.AssetCheckResult(**said)

    return table_checks


def _specs(table: Table) -> Iterator[dg.AssetCheckSpec]:
    for check in table.checks:
        if check.severity == "blocking":
            name = name_of(check.name)
            yield dg.AssetCheckSpec(name, asset=key_of(table.name), description=check.claim, blocking=True)
    yield from _warnings(table)


def _specs_of_own(model: Model) -> Iterator[dg.AssetCheckSpec]:
    about = "Its rows are as its head and its blocking checks say."
    yield dg.AssetCheckSpec(MADE, asset=key_of(model.name), description=about)
    yield from _warnings(model)


def _warnings(table: Table | Model) -> Iterator[dg.AssetCheckSpec]:
    if claims := [f"- {name_of(each.name)}: {each.claim}" for each in table.checks if each.severity == "warning"]:
        yield dg.AssetCheckSpec(WARNINGS, asset=key_of(table.name), description="\n".join(claims))


OWNER = "team:data"
UNDER_WAY = "run"  # the resource that all steps need
_SHOWN = 20  # rejected documents in the log
_RAW = {
    "stores": "Store records from the list of stores; one document per distinct record.",
    "menus": "Menus that store records or a request name; one document per distinct menu.",
    "orders": "Orders on the work list (the interface cannot list them); one document per distinct order.",
}


@contextmanager
def failing_by_sentence() -> Iterator[None]:
    """Raise an expected error of the block as a failure with its sentence, not tried again; any other as it is."""
    try:
        yield
    except Exception as error:
        if (sentence := sentence_of(error)) is None:
            raise
        raise dg.Failure(description=sentence, allow_retries=False) from error


def flow(settings: Settings) -> list[dg.AssetsDefinition]:
    """Return the assets in the order of the flow."""
    return [*(_raw(kind) for kind in FETCHING), _tables(settings)]


def _raw(kind: str) -> dg.AssetsDefinition:
    @dg.asset(
        key=["raw", kind],
        deps=[] if kind == "stores" else [["raw", "stores"]],
        group_name="raw",
        owners=[OWNER],
        kinds={"parquet"},
        required_resource_keys={UNDER_WAY},
        description=_RAW[kind],
    )
    def fetched(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
        way = getattr(context.resources, UNDER_WAY)
        with failing_by_sentence():
            if kind == FETCHING[0]:
                _log(context, way.do("heal"))
            step = way.do(kind)
        _log(context, step)
        for refusal in next(each for each in way.partner.ingested if each.kind == kind).refused[:_SHOWN]:
            context.log.warning("%s %s: %s %s", kind, refusal.id, refusal.reason, refusal.pointer or "")
        requested = sum(step.counts.values())
        said = {"incomplete": "\n".join(step.shortfalls)} if step.shortfalls else {}
        return dg.MaterializeResult(metadata={"dagster/row_count": requested, **step.counts, **said})

    return fetched


def _tables(settings: Settings) -> dg.AssetsDefinition:
    models = {model.name: model for model in read_models(settings).models}
    released = [key_of(name) for name in (*(table.name for table in tables() if table.is_released), *models)]

    @dg.multi_asset(
        name="tables_and_release",
        specs=[
            *(_spec(table) for table in tables()),
            *(_of_model(model, models) for model in models.values()),
            dg.AssetSpec(
                RELEASE,
                deps=released,
                group_name=RELEASE,
                owners=[OWNER],
                kinds={"duckdb", "parquet"},
                freshness_policy=freshness(settings),
                skippable=True,
                description="What readers open: one DuckDB file, Parquet files and a manifest, switched in one rename. "
                "Reported whenever a run found that it shows what readers need to know, also if it published none.",
            ),
        ],
        required_resource_keys={UNDER_WAY},
    )
    def tables_and_release(context: dg.AssetExecutionContext) -> Iterator[Any]:
        way = getattr(context.resources, UNDER_WAY)
        with failing_by_sentence():
            try:
                _log(context, way.do("build"))
            except BuildBlocked as blocked:
                yield from evaluations(blocked.checks)
                raise
        for name, rows in way.run.rows.items():
            # logged, not returned: with an output Dagster stores 2 KB on the versions of the tables that it reads
            context.log_event(dg.AssetMaterialization(key_of(name), metadata={"dagster/row_count": rows}))
        if way.result.changed:
            yield from news(context.instance, way.checks, way.run.rows, way.run.validated)
        with failing_by_sentence():
            published = way.do("publish")
            _log(context, published)
            if way.run.why_kept:
                context.log.info("Published nothing: %s", way.run.why_kept)
            if way.run.is_new:
                yield from news(context.instance, results_of_own(way.settings), way.run.rows)
            for name in models.keys() & way.run.rows.keys():
                yield dg.MaterializeResult(asset_key=key_of(name), metadata={"dagster/row_count": way.run.rows[name]})
            page = way.settings.data_dir / "published" / PAGE
            shown_page = dg.MetadataValue.path(str(page))
            shown = {"release": way.run.release, VALIDATED: way.run.validations, "morning page": shown_page}
            context.log_event(dg.AssetMaterialization(RELEASE, metadata=shown))
            if way.run.kind == NIGHT:
                _log(context, way.do("maintenance"))

    return tables_and_release


def _log(context: dg.AssetExecutionContext, step: Step) -> None:
    """Show what a step did in Dagster's log."""
    counts = ", ".join(f"{number:,} {name}" for name, number in step.counts.items() if number)
    context.log.info("%s: %s", step.name, counts or "nothing to do")
    for sentence in step.said:
        context.log.info(sentence)
    for sentence in step.shortfalls:
        context.log.error("%s: %s", step.name, sentence)


def freshness(settings: Settings) -> dg.FreshnessPolicy | None:
    """Return the policy that a night ends by [schedule] fresh_by, on the days of the schedule; None without it."""
    schedule = settings.schedule
    if not schedule.fresh_by:
        return None
    hour, minute = map(int, schedule.fresh_by.split(":"))
    days = " ".join(schedule.cron.split()[2:]) or "* * *"
    deadline = f"{minute} {hour} {days}"
    due = next_tick(deadline, schedule.timezone, utc_now())
    began = next_tick(schedule.cron, schedule.timezone, due - timedelta(days=1)) if due else None
    window = due - began if due and began and began < due else timedelta(days=1)
    return dg.FreshnessPolicy.cron(deadline, window, schedule.timezone)


_of_sql = functools.partial(dg.AssetSpec, owners=[OWNER], kinds={"duckdb", "sql"}, skippable=True)


def _spec(table: Table) -> dg.AssetSpec:
    kinds = sorted({kind for name in table.depends_on for kind in LANDED_KINDS.get(name, ())})
    others = [name for name in table.depends_on if not name.startswith("raw.") and name != table.name]
    columns = []
    for each in table.columns:
        constraints = dg.TableColumnConstraints(nullable=each.nullable)
        columns.append(dg.TableColumn(each.name, each.type, each.description, constraints))
    deps = [*map(key_of, others), *(dg.AssetKey(["raw", kind]) for kind in kinds)]
    said, group = {"dagster/column_schema": dg.TableSchema(columns)}, table.name.split(".")[0]
    return _of_sql(key_of(table.name), deps=deps, group_name=group, description=table.description, metadata=said)


def _of_model(model: Model, models: Iterable[str]) -> dg.AssetSpec:
    """Return the asset of a table of the user's own; it is made with the release, and skipped if it is not right."""
    known = {*models, *(table.name for table in tables())}
    deps = [key_of(name) for name in model.reads.tables if name in known]
    return _of_sql(key_of(model.name), deps=deps, group_name="own", description=model.head.about)


_EVERY_SECONDS = 30  # two sensors act on a killed run, one after the other: it is resumed within two minutes
_FORGET_AFTER = 10_000  # changed tables, whose checks Dagster keeps: some 50 MB
_RESUMED = 3  # times, after kills in a row


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
        description="Tells of runs that were killed, shows what runs of the command line made, and forgets old runs.",
        default_status=status,
    )
    def recorded_runs(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        # a killed run blocks the queue for no longer than that
        if any_alive(context.instance) and not lock_holder(settings.data_dir):
            with suppress(RunLockedError), run_lock(settings.data_dir, "a look for dead runs"):
                fail_dead_runs(context.instance)
        look_for_dead_runs(settings)
        forget_old_runs(context.instance, settings.dagster.keep_days)
        since, _, count = (context.cursor or "").partition(" ")
        ended = [run for run in runs(settings.data_dir) if run.is_told and run.id > since]
        if (changed := int(count or 0) + sum(len(run.rows) for run in ended)) > _FORGET_AFTER:
            changed = 0
            forget_assets(context.instance)
        shown: list[Any] = events_of(run for run in ended if not run.dagster_run_id)
        if not shown and not lock_holder(settings.data_dir):
            shown = [*events_of_release(settings, context.instance)]
        if shown:
            keys = {".".join(event.asset_key.path) for event in shown}
            validated = {name: rows for run in ended for name, rows in run.validated.items()}
            shown += news(context.instance, all_results(settings), keys, validated)
        return dg.SensorResult(asset_events=shown, cursor=f"{ended[-1].id if ended else since} {changed}")

    @dg.run_failure_sensor(monitored_jobs=list(jobs.values()), default_status=status)
    def not_begun(context: dg.RunFailureSensorContext) -> None:
        """Tell of a run that failed before it had a record."""
        failed = context.dagster_run
        if any(run.dagster_run_id == failed.run_id for run in runs(settings.data_dir)):
            return
        kind = next(kind for kind in KINDS_OF_RUNS if kind == failed.job_name)
        run = new_run(kind, dagster_run_id=failed.run_id)
        run.error, run.ended_at = "Dagster could not start the run, see its log", run.started_at
        report_run(settings, run)

    return [webhooks_waiting, recorded_runs, not_begun]


def _due(settings: Settings) -> dg.SensorResult | dg.SkipReason:
    """Return the request for one run for all that is due; its cursor is the last delivery that it acted on."""
    path = inbox_path(settings.data_dir)
    if not path.exists():
        return dg.SkipReason("no delivery has been received yet")
    if holder := lock_holder(settings.data_dir):
        return dg.SkipReason(f"a run is under way: {holder}")
    _, delivery = span(path)
    with WorkList(path) as work:
        entries = [work.entry(kind, id_) for kind in KINDS for id_ in work.due(kind, limit=1)]
    due = [entry.due_at for entry in entries if entry is not None and entry.due_at is not None]
    if not due:
        waiting = deferred_until(settings.data_dir / "published")
        if waiting is None or waiting > utc_now():
            return dg.SkipReason("nothing is due")
        return dg.SensorResult(run_requests=[dg.RunRequest(f"publication due {waiting}")])
    # One run per set of due entries: after a failed run they wait for the nightly one, after a kill for the next.
    key = f"deliveries to {delivery}, due since {min(due).isoformat()}"
    killed = list(takewhile(lambda run: run.stopped_by, reversed(runs(settings.data_dir))))
    if 0 < len(killed) <= _RESUMED:
        key += f", resuming {killed[0].id}"
    return dg.SensorResult(run_requests=[dg.RunRequest(run_key=key)], cursor=str(delivery))
