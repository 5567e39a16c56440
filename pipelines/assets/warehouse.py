"""The step that builds every table, reports those that changed, and publishes the release.

It is one step because a step per table would commit bad rows before a check could block them.

Dagster reads the annotations at runtime, so this file does not postpone them.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg

from pipelines.assets.failures import failing_by_sentence
from pipelines.assets.raw import OWNER, REPORT
from pipelines.assets.shortfalls import fail_if_nothing_came
from pipelines.assets.tables import evaluations, key_of, report
from pipelines.finance.restating import build_and_record
from pipelines.report.page.morning import morning_page
from pipelines.settings import Settings
from pipelines.settings.kinds import KINDS
from pipelines.warehouse import BuildBlocked, CheckResult, publish, tables
from pipelines.warehouse.release.need import HINT

CHECKS = "checks"  # metadata of the step: how many ran, and [table, check, violations] of those that failed
RELEASE = "release"
PAGE = "morning page"
_NEEDS = {"settings", "progress", "run_lock", "partner"}


class PublishingRun(dg.Config):
    """Which kind of run publishes: `night`, or `hint`, which may have to wait for the next release."""

    run: str = "night"


def warehouse_assets(settings: Settings) -> list[dg.AssetsDefinition | dg.AssetSpec]:
    """Return the step that builds all tables and publishes them, and the release as an asset without a step."""

    @dg.asset(
        key="warehouse",
        deps=[["raw", kind] for kind in KINDS],
        group_name="warehouse",
        required_resource_keys=_NEEDS,
        owners=[OWNER],
        kinds={"duckdb"},
        freshness_policy=freshness(settings),
        description="Builds core, mart and audit in one commit, after every blocking check has passed, and publishes a "
        "release if readers need one; reports the tables whose rows changed.",
    )
    def warehouse(context: dg.AssetExecutionContext, config: PublishingRun) -> Iterator[Any]:
        settings = context.resources.settings
        fail_if_nothing_came(settings, context.resources.partner)
        with failing_by_sentence():
            try:
                result = build_and_record(settings, progress=context.resources.progress)
            except BuildBlocked as blocked:
                yield from evaluations(blocked.failed)  # events that are only logged are lost with a failed step
                shown = {CHECKS: _shown(blocked.checks)}
                raise dg.Failure(description=str(blocked), metadata=shown, allow_retries=False) from None
        context.log.info("build: %s", result.why)
        stale = [] if config.run == HINT else _stale(context.instance, settings)  # no run for webhooks removes any
        report(context, result, stale, all_checks=_is_after_failure(context.instance, context.run.run_id))
        with failing_by_sentence():
            release = publish(settings, result, run=config.run)
        notes = [*result.notes, *release.notes]
        page = dg.MetadataValue.path(str(morning_page(settings.data_dir / "published")))
        if release.why_kept:
            notes.append(f"No release was published: {release.why_kept} {release.id}.")
        else:
            metadata: dict[str, Any] = {"release": release.id, "path": str(release.path), PAGE: page}
            context.log_event(dg.AssetMaterialization(RELEASE, metadata=metadata))
        said = {REPORT: "\n".join(notes)} if notes else {}
        changed: dict[str, Any] = {"why": result.why, "changed_tables": len(result.changed_tables), PAGE: page}
        yield dg.MaterializeResult(metadata={**changed, CHECKS: _shown(result.checks), **said})

    release = dg.AssetSpec(
        RELEASE,
        deps=["warehouse", *(key_of(table.name) for table in tables())],
        group_name="release",
        owners=[OWNER],
        kinds={"duckdb", "parquet"},
        description="What readers open: one DuckDB file, Parquet files and a manifest, switched in one rename. A run "
        "after which readers would see the same publishes none.",
    )
    return [warehouse, release]


def freshness(settings: Settings) -> dg.FreshnessPolicy | None:
    """Return the policy that a run succeeds every [notify] max_age_hours; None where that is switched off."""
    hours = settings.notify.max_age_hours
    return dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=hours)) if hours > 0 else None


def _shown(checks: list[CheckResult]) -> dg.JsonMetadataValue:
    failing = [[each.table, each.name, each.violations] for each in checks if each.violations]
    return dg.MetadataValue.json({"ran": len(checks), "failing": failing})


def _is_after_failure(instance: dg.DagsterInstance, run_id: str) -> bool:
    """Tell whether the run before did not succeed: it may have reported a check as failed that now holds."""
    before = [run for run in instance.get_runs(limit=2) if run.run_id != run_id]
    return bool(before) and before[0].status != dg.DagsterRunStatus.SUCCESS


def _stale(instance: dg.DagsterInstance, settings: Settings) -> list[str]:
    """Return the tables whose last report maintenance would soon remove, though they did not change since."""
    before = datetime.now(UTC) - timedelta(days=settings.dagster.keep_days / 2)
    names = {key_of(table.name): table.name for table in tables()}
    records = instance.get_asset_records(list(names))
    found = [(each.asset_entry.asset_key, each.asset_entry.last_materialization_record) for each in records]
    return sorted(names[key] for key, last in found if last is not None and last.timestamp < before.timestamp())


def failing_checks(metadata: dict[str, Any]) -> tuple[int, tuple[tuple[str, str, int], ...]]:
    """Return how many checks ran and (table, check, violations) of those that failed, from the step's metadata."""
    shown: Any = metadata[CHECKS].value if CHECKS in metadata else {"ran": 0, "failing": []}
    return shown["ran"], tuple((table, check, number) for table, check, number in shown["failing"])
