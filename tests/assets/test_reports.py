"""What the build reports to Dagster: tables that changed, checks that find something else, nothing besides.

Dagster reads the annotations at runtime, so this file does not postpone them.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from pipelines.assets.tables import CHECK, evaluations, report
from pipelines.assets.warehouse import _is_after_failure, _stale, failing_checks
from pipelines.settings import load_settings
from pipelines.warehouse import BuildResult, CheckResult

HOLDS = CheckResult("core.orders__a", "core.orders", "blocking", 0)
FINDS = CheckResult("mart.orders__b", "mart.orders", "warning", 2, [{"entity_id": 7}])
RESULT = BuildResult(changed=True, full=False, why="", rows={"core.orders": 5}, checks=[HOLDS, FINDS])


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """Give an instance of its own, with the storage of a data folder."""
    (tmp_path / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    with dg.DagsterInstance.from_config(str(tmp_path)) as made:
        yield made


def run(instance: dg.DagsterInstance, result: BuildResult | None, blocked: CheckResult | None = None) -> Any:
    """Run a step that reports as the build does."""

    @dg.asset(name="warehouse")
    def warehouse(context: dg.AssetExecutionContext) -> Iterator[Any]:
        if blocked is not None:
            yield from evaluations([blocked])
            raise dg.Failure(description="blocked", allow_retries=False)
        assert result is not None
        report(context, result, all_checks=_is_after_failure(context.instance, context.run.run_id))
        yield dg.MaterializeResult()

    return dg.materialize([warehouse], instance=instance, raise_on_error=False)


def reported(done: Any) -> tuple[set[str], dict[str, bool]]:
    """Return the tables reported as materialized, and by table whether its check passed."""
    tables = {event.asset_key.to_user_string() for event in done.get_asset_materialization_events()}
    checks = {each.asset_key.to_user_string(): each.passed for each in done.get_asset_check_evaluations()}
    assert all(each.check_name == CHECK for each in done.get_asset_check_evaluations())
    return tables - {"warehouse"}, checks


@pytest.mark.slow
def test_only_what_changed_is_reported(instance: dg.DagsterInstance) -> None:
    """A table whose rows changed and a check whose findings changed are reported, each by itself; else nothing."""
    assert reported(run(instance, RESULT)) == (set(), {})
    changed = dataclasses.replace(RESULT, changed_tables=frozenset({"core.orders"}))
    assert reported(run(instance, changed)) == ({"core/orders"}, {})
    event = instance.get_latest_materialization_event(dg.AssetKey(["core", "orders"]))
    assert event is not None
    assert event.asset_materialization is not None
    assert event.asset_materialization.metadata["dagster/row_count"].value == 5
    found = dataclasses.replace(RESULT, changed_checks=frozenset({FINDS.name}))
    done = run(instance, found)
    assert reported(done) == (set(), {"mart/orders": False})
    (evaluation,) = done.get_asset_check_evaluations()
    assert evaluation.severity == dg.AssetCheckSeverity.WARN
    assert evaluation.metadata[FINDS.name].value == 2


@pytest.mark.slow
def test_a_check_that_blocked_is_reported_again_once_it_holds(instance: dg.DagsterInstance) -> None:
    """A failed claim is an error on its table; after the next good run its page says that it holds."""
    broken = dataclasses.replace(HOLDS, violations=3)
    done = run(instance, None, blocked=broken)
    assert reported(done) == (set(), {"core/orders": False})
    assert done.get_asset_check_evaluations()[0].severity == dg.AssetCheckSeverity.ERROR
    assert reported(run(instance, RESULT))[1]["core/orders"]
    assert reported(run(instance, RESULT)) == (set(), {})


def test_a_table_is_reported_again_before_its_report_is_removed(instance: dg.DagsterInstance) -> None:
    """What did not change for half of keep_days is reported again, so that Dagster never forgets it."""
    run(instance, dataclasses.replace(RESULT, changed_tables=frozenset({"core.orders"})))
    assert _stale(instance, load_settings(environ={})) == []
    assert _stale(instance, load_settings(environ={"ORDERMART_DAGSTER__KEEP_DAYS": "0.0000001"})) == ["core.orders"]


def test_failed_checks_are_read_from_the_step() -> None:
    """The summary of a run has the checks from the step's metadata: few events stand for all of them."""
    shown = {"checks": dg.MetadataValue.json({"ran": 2, "failing": [["mart.orders", "b", 2]]})}
    assert failing_checks(shown) == (2, (("mart.orders", "b", 2),))
    assert failing_checks({}) == (0, ())
