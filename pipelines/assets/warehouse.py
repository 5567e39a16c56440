"""The warehouse as one step with a spec per table, and the release.

It is one step because a step per table would commit bad rows before a check could block them.
"""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from pipelines.assets.raw import REPORT
from pipelines.assets.shortfalls import fail_if_nothing_came
from pipelines.finance.restating import build_and_record
from pipelines.warehouse import BuildBlocked, CheckResult, Table, publish, tables
from pipelines.warehouse.inputs import LANDED_KINDS

_NEEDS = {"settings", "progress", "run_lock"}


def warehouse_assets() -> list[dg.AssetsDefinition]:
    """Return the multi-asset of all tables, and the release that depends on it."""
    catalogue = list(tables())
    checks = [
        dg.AssetCheckSpec(check.name, asset=_key(table), blocking=check.severity == "blocking", description=check.claim)
        for table in catalogue
        for check in table.checks
    ]

    @dg.multi_asset(
        name="warehouse",
        specs=[_spec(table) for table in catalogue],
        check_specs=checks,
        required_resource_keys=_NEEDS | {"partner"},
    )
    def warehouse(context: dg.AssetExecutionContext) -> Iterator[Any]:
        fail_if_nothing_came(context.resources.settings, context.resources.partner)
        try:
            result = build_and_record(context.resources.settings, progress=context.resources.progress)
        except BuildBlocked as blocked:
            yield from (_evaluation(check) for check in blocked.checks)
            raise dg.Failure(description=str(blocked), allow_retries=False) from None
        context.log.info("build: %s", result.why)
        notes = {REPORT: "\n".join(result.notes)} if result.notes else {}
        for table in catalogue:
            rows = {"dagster/row_count": result.rows.get(table.name, 0)}
            yield dg.MaterializeResult(asset_key=_key(table), metadata={**rows, **notes})
            notes = {}  # with the first table alone
        yield from (_evaluation(check) for check in result.checks)

    @dg.asset(
        key="release",
        deps=[_key(table) for table in catalogue],
        group_name="release",
        required_resource_keys=_NEEDS,
        description="What readers open: one DuckDB file, Parquet files and a manifest, switched in one rename.",
    )
    def release(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
        release = publish(context.resources.settings)
        notes = {REPORT: "\n".join(release.notes)} if release.notes else {}
        return dg.MaterializeResult(metadata={"release": release.id, "path": str(release.path), **notes})

    return [warehouse, release]


def _key(table: Table) -> dg.AssetKey:
    return dg.AssetKey(table.name.split("."))


def _spec(table: Table) -> dg.AssetSpec:
    return dg.AssetSpec(
        _key(table),
        deps=_deps(table),
        group_name=table.name.split(".")[0],
        description=table.description,
        metadata={
            "dagster/column_schema": dg.TableSchema(
                [
                    dg.TableColumn(
                        column.name,
                        column.type,
                        description=column.description,
                        constraints=dg.TableColumnConstraints(nullable=column.nullable),
                    )
                    for column in table.columns
                ]
            )
        },
    )


def _deps(table: Table) -> list[dg.AssetKey]:
    """Return the other tables that its SQL reads, and the raw assets behind the inputs that it reads."""
    kinds = sorted({kind for name in table.depends_on for kind in LANDED_KINDS.get(name, ())})
    others = [name.split(".") for name in table.depends_on if not name.startswith("raw.") and name != table.name]
    return [dg.AssetKey(path) for path in others] + [dg.AssetKey(["raw", kind]) for kind in kinds]


def _evaluation(check: CheckResult) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        asset_key=dg.AssetKey(check.table.split(".")),
        check_name=check.name,
        passed=check.violations == 0,
        severity=dg.AssetCheckSeverity.ERROR if check.severity == "blocking" else dg.AssetCheckSeverity.WARN,
        metadata={"violations": check.violations, "first": dg.MetadataValue.json(check.sample)},
    )
