"""The tables of the warehouse as external assets, each with one check that stands for all of its claims.

No step belongs to a table: the step `warehouse` builds all of them in one commit and reports, by `report`, those whose
rows or findings changed. An event costs Dagster more than most tables cost the build.

Dagster reads the annotations at runtime, so this file does not postpone them.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import dagster as dg

from pipelines.assets.raw import OWNER
from pipelines.warehouse import BuildResult, CheckResult, Table, tables
from pipelines.warehouse.build.found import stored_results
from pipelines.warehouse.inputs import LANDED_KINDS

CHECK = "holds"


def table_specs() -> list[dg.AssetSpec]:
    """Return a spec per table: its columns, and what its SQL reads."""
    return [_spec(table) for table in tables()]


def table_checks() -> dg.AssetChecksDefinition:
    """Return the declaration of one check per table; executed by itself, it reports what the last build found."""
    specs = [dg.AssetCheckSpec(CHECK, asset=key_of(table.name), description=_claims(table)) for table in tables()]

    @dg.multi_asset_check(
        name="table_checks",
        specs=specs,
        required_resource_keys={"settings"},
        description="Reports again what the last build found; a run of the job reports it by itself.",
    )
    def table_checks(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        for evaluation in evaluations(stored_results(context.resources.settings)):
            yield dg.AssetCheckResult(
                asset_key=evaluation.asset_key,
                check_name=CHECK,
                passed=evaluation.passed,
                severity=evaluation.severity,
                metadata=evaluation.metadata,
            )

    return table_checks


def report(
    context: dg.AssetExecutionContext, result: BuildResult, stale: Iterable[str] = (), *, all_checks: bool = False
) -> None:
    """Report the tables whose rows changed, or those `stale`, and the checks that find something else than before."""
    changed = result.changed_tables | set(stale)
    found = {each.table for each in result.checks if all_checks or each.name in result.changed_checks}
    checked = found | set(stale)
    for table in tables():
        if table.name in changed:
            rows = {"dagster/row_count": result.rows.get(table.name, 0)}
            context.log_event(dg.AssetMaterialization(key_of(table.name), metadata=rows))
    for evaluation in evaluations([each for each in result.checks if each.table in checked]):
        context.log_event(evaluation)


def key_of(name: str) -> dg.AssetKey:
    """Return the asset key of a table."""
    return dg.AssetKey(name.split("."))


def evaluations(checks: Sequence[CheckResult]) -> Iterator[dg.AssetCheckEvaluation]:
    """Yield one evaluation for each table that these checks are about."""
    by_table: dict[str, list[CheckResult]] = {}
    for each in checks:
        by_table.setdefault(each.table, []).append(each)
    for name, of_table in by_table.items():
        failing = [each for each in of_table if each.violations]
        is_blocked = any(each.severity == "blocking" for each in failing)
        shown: dict[str, Any] = {each.name: each.violations for each in failing}
        first = {each.name: each.sample for each in failing}
        yield dg.AssetCheckEvaluation(
            asset_key=key_of(name),
            check_name=CHECK,
            passed=not failing,
            severity=dg.AssetCheckSeverity.ERROR if is_blocked else dg.AssetCheckSeverity.WARN,
            metadata={"claims": len(of_table), **shown, **({"first": dg.MetadataValue.json(first)} if first else {})},
        )


def _claims(table: Table) -> str:
    return "\n".join(f"- {check.name} ({check.severity}): {check.claim}" for check in table.checks)


def _spec(table: Table) -> dg.AssetSpec:
    return dg.AssetSpec(
        key_of(table.name),
        deps=_deps(table),
        group_name=table.name.split(".")[0],
        description=table.description,
        owners=[OWNER],
        kinds={"duckdb", "sql"},
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
