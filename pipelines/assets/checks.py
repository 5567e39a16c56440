"""Every claim about the tables as a check of its name: one for each that blocks, one a table for all its warnings.

A build evaluates them, in one commit with the tables, so no step of Dagster belongs to them: none is skipped by a run
in which there is nothing to build.

Dagster reads the annotations at runtime, so this file does not postpone them.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import dagster as dg

from pipelines.warehouse import Check, CheckResult, Table, tables
from pipelines.warehouse.building.order_lookup import stored_results

WARNINGS = "warnings"


def table_checks() -> dg.AssetChecksDefinition:
    """Return the declaration of all checks; executed by itself, it reports the findings of the last build."""
    specs = [spec for table in tables() for spec in _specs(table)]

    @dg.multi_asset_check(
        name="table_checks",
        specs=specs,
        required_resource_keys={"settings"},
        description="Reports again what the last build found; a run that builds reports it by itself.",
    )
    def table_checks(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        for each in evaluations(stored_results(context.resources.settings)):
            yield dg.AssetCheckResult(
                asset_key=each.asset_key,
                check_name=each.check_name,
                passed=each.passed,
                severity=each.severity,
                metadata=each.metadata,
            )

    return table_checks


def evaluations(results: Iterable[CheckResult]) -> Iterator[dg.AssetCheckEvaluation]:
    """Yield one evaluation for each claim that blocks, and one for the warnings of each table."""
    warnings: dict[str, list[CheckResult]] = {}
    for each in results:
        if each.severity == "blocking":
            yield _evaluation(each.table, _name(each.name), [each], dg.AssetCheckSeverity.ERROR)
        else:
            warnings.setdefault(each.table, []).append(each)
    for table, found in warnings.items():
        yield _evaluation(table, WARNINGS, found, dg.AssetCheckSeverity.WARN)


def _evaluation(
    table: str, name: str, results: list[CheckResult], severity: dg.AssetCheckSeverity
) -> dg.AssetCheckEvaluation:
    failing = [each for each in results if each.violations]
    shown: dict[str, Any] = {_name(each.name): each.violations for each in failing}
    if failing:
        shown["first"] = dg.MetadataValue.json({_name(each.name): each.sample for each in failing})
    return dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(table.split(".")),
        check_name=name,
        passed=not failing,
        severity=severity,
        metadata=shown,
    )


def _specs(table: Table) -> Iterator[dg.AssetCheckSpec]:
    key = dg.AssetKey(table.name.split("."))
    warnings = []
    for check in table.checks:
        if check.severity == "blocking":
            yield dg.AssetCheckSpec(_name(check.name), asset=key, description=check.claim)
        else:
            warnings.append(check)
    if warnings:
        yield dg.AssetCheckSpec(WARNINGS, asset=key, description=_claims(warnings))


def _claims(checks: Iterable[Check]) -> str:
    return "\n".join(f"- {_name(check.name)}: {check.claim}" for check in checks)


def _name(check: str) -> str:
    """Return the name of a check without that of its table."""
    return check.partition("__")[2]
