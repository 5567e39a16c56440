"""What Dagster shows of a release that it did not make, or that a failed run left as it was; and what it forgets.

All of it by Dagster's public interface: `report_runless_asset_event`, `delete_run`, `wipe_assets`. A run that Dagster
executes yields its own events. A check of a table is shown again when the table changed, as Dagster takes older results
for those of other rows, and when its result did. Dagster reads annotations at runtime: postpone none here.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter

from pipelines.clock import utc_now
from pipelines.record import WEBHOOKS, Run, current_release
from pipelines.settings import Settings
from pipelines.settings.kinds import KINDS
from pipelines.warehouse.building.build import stored_results
from pipelines.warehouse.catalogue.tables import tables
from pipelines.warehouse.own.models import read_models
from pipelines.warehouse.release.manifest import read_manifest
from pipelines.warehouse.rows.fresh_rows import CheckResult

RELEASE = "release"
WARNINGS, MADE, VALIDATED = "warnings", "is_made", "validated by Pandera"
_ENDED = [DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED]
_KEPT = 100  # of the newest runs for webhooks, of which there may be one a minute
_AT_ONCE = 50  # runs are deleted by one look, which may take a minute


def key_of(name: str) -> dg.AssetKey:
    """Return the asset key of a table."""
    return dg.AssetKey(name.split("."))


def name_of(check: str) -> str:
    """Return the name of a check without that of its table."""
    return check.partition("__")[2]


def evaluations(
    results: Iterable[CheckResult], validated: Mapping[str, int] | None = None
) -> Iterator[dg.AssetCheckEvaluation]:
    """Yield one evaluation for each claim that blocks, and one for the warnings of each table.

    `validated` are the rows that the run checked against the Pandera schema of their table, by table.
    """
    grouped: dict[tuple[str, str, dg.AssetCheckSeverity], list[CheckResult]] = {}
    for each in results:
        if each.severity == "blocking":
            grouped[each.table, name_of(each.name), dg.AssetCheckSeverity.ERROR] = [each]
        else:
            grouped.setdefault((each.table, WARNINGS, dg.AssetCheckSeverity.WARN), []).append(each)
    for (table, name, severity), found in grouped.items():
        failing = [each for each in found if each.violations]
        shown: dict[str, Any] = {name_of(each.name): each.violations for each in failing}
        if failing:
            shown["first"] = dg.MetadataValue.json({name_of(each.name): each.sample for each in failing})
        if validated and table in validated:
            shown[VALIDATED] = validated[table]
        yield dg.AssetCheckEvaluation(
            asset_key=key_of(table), check_name=name, passed=not failing, severity=severity, metadata=shown
        )


def all_results(settings: Settings) -> list[CheckResult]:
    """Return the results of all checks as the last build and the current release have them."""
    return [*stored_results(settings), *results_of_own(settings)]


def results_of_own(settings: Settings) -> Iterator[CheckResult]:
    """Yield the results of the user's own tables in the current release."""
    release = current_release(settings.data_dir / "published")
    manifest = read_manifest(release) if release else None
    known = {table.name: table for table in manifest.own} if manifest else {}
    for model in read_models(settings).models:
        table = known.get(model.name)
        is_wrong = table is None or bool(table.problem)
        yield CheckResult(f"{model.name}__{MADE}", model.name, "blocking", int(is_wrong))
        for check in model.checks:
            if check.severity == "warning":
                found = table.warnings.get(check.name, 0) if table else 0
                yield CheckResult(check.name, model.name, "warning", found)


def news(
    instance: dg.DagsterInstance,
    results: Iterable[CheckResult],
    changed: Collection[str],
    validated: Mapping[str, int] | None = None,
) -> Iterator[dg.AssetCheckEvaluation]:
    """Yield the evaluations of tables that changed, and those that are not as Dagster shows them."""
    found, keys = list(evaluations(results, validated)), {key_of(name) for name in changed}
    records = instance.event_log_storage.get_latest_asset_check_execution_by_key([e.asset_check_key for e in found])
    for each in found:
        record = records.get(each.asset_check_key)
        shown = record.evaluation if record else None
        is_shown = shown is not None and _said(shown) == _said(each)
        if each.asset_key in keys or not is_shown:
            yield each


def _said(each: dg.AssetCheckEvaluation) -> tuple[Any, ...]:
    return each.passed, {name: value for name, value in each.metadata.items() if name != VALIDATED}


def events_of(runs: Iterable[Run]) -> list[dg.AssetMaterialization]:
    """Return what Dagster shows of runs that it did not execute: of each asset, the rows that the last one made."""
    made: dict[dg.AssetKey, dg.AssetMaterialization] = {}
    for run in runs:
        if run.did_all_steps:
            landed = {f"raw.{kind}": {"dagster/row_count": sum(of.values()), **of} for kind, of in run.landed.items()}
            built = {name: {"dagster/row_count": rows} for name, rows in run.rows.items()}
            shown: dict[str, dict[str, Any]] = {**landed, **built}
            shown[RELEASE] = {"release": run.release, VALIDATED: run.validations}
            made |= {key_of(name): dg.AssetMaterialization(key_of(name), metadata=said) for name, said in shown.items()}
    return list(made.values())


def events_of_release(settings: Settings, instance: dg.DagsterInstance) -> list[dg.AssetMaterialization]:
    """Return all of the current release, if Dagster shows another one, or a run failed since; else nothing.

    Dagster takes each asset that a failed run was to make for failed until something later is reported of it.
    """
    release = current_release(settings.data_dir / "published")
    manifest = read_manifest(release) if release else None
    if release is None or manifest is None:
        return []
    said = {}
    failed = instance.get_run_records(RunsFilter(statuses=[DagsterRunStatus.FAILURE]), limit=1)
    if event := instance.get_latest_materialization_event(dg.AssetKey(RELEASE)):
        shown = event.asset_materialization
        if failed and (failed[0].end_time or 0) > event.timestamp:
            said = {"reported": f"as it was before run {failed[0].dagster_run.run_id}, which failed"}
        elif shown and shown.metadata.get("release") == dg.MetadataValue.text(release.name):
            return []
    names = (*(f"raw.{kind}" for kind in KINDS), *(table.name for table in tables()), *manifest.rows)
    rows = {name: {"dagster/row_count": manifest.rows[name]} if name in manifest.rows else {} for name in names}
    made = [dg.AssetMaterialization(key_of(name), metadata={**count, **said}) for name, count in rows.items()]
    return [*made, dg.AssetMaterialization(RELEASE, metadata={"release": release.name, **said})]


def show_release(settings: Settings, instance: dg.DagsterInstance) -> None:
    """Report all of the current release, for pages whose sensors are off, unless they show it."""
    if events := events_of_release(settings, instance):
        everything: list[Any] = [*events, *evaluations(all_results(settings))]
        for each in everything:
            instance.report_runless_asset_event(each)


def forget_old_runs(instance: dg.DagsterInstance, keep_days: float, now: datetime | None = None) -> int:
    """Delete runs that ended, those for webhooks but the newest hundred and all older than so many days, in part.

    Return how many; the next look goes on. `delete_run` leaves a file of the run, without rows, and its output.
    """
    frequent = RunsFilter(job_name=WEBHOOKS, statuses=_ENDED)
    old = RunsFilter(statuses=_ENDED, created_before=(now or utc_now()) - timedelta(days=keep_days))
    extra = min(_AT_ONCE, instance.get_runs_count(frequent) - _KEPT)
    found = instance.get_run_records(old, limit=_AT_ONCE, ascending=True)
    found = [*found, *(instance.get_run_records(frequent, limit=extra, ascending=True) if extra > 0 else ())]
    for run_id in {record.dagster_run.run_id for record in found}:
        instance.delete_run(run_id)
        instance.compute_log_manager.delete_logs(prefix=[run_id])
        for file in (Path(instance.root_directory) / "history" / "runs").glob(f"{run_id}.db*"):
            file.unlink(missing_ok=True)
    return len(found)


def forget_assets(instance: dg.DagsterInstance) -> None:
    """Begin the history of all assets again: Dagster keeps each evaluation of a check, also of deleted runs."""
    instance.wipe_assets(list(instance.all_asset_keys()))
    instance.delete_run("")  # events without a run
