"""What a run shows Dagster: tables that changed, every claim of a build, nothing besides. Each run is a real one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import dagster as dg
import pytest

from pipelines.assets.dev import dagster_home
from pipelines.assets.flow import WARNINGS, evaluations
from pipelines.definitions import wiring
from pipelines.inbox.worklist import WorkList
from pipelines.record import NIGHT, WEBHOOKS, runs
from pipelines.settings import load_settings
from pipelines.warehouse.catalogue.tables import tables
from pipelines.warehouse.rows.fresh_rows import CheckResult

if TYPE_CHECKING:
    from conftest import Place

BLOCKING = {check.name for table in tables() for check in table.checks if check.severity == "blocking"}


def test_claims_are_evaluated_by_name() -> None:
    """One evaluation for each that blocks, and one for all warnings of a table, with what they found."""
    rows = [{"entity_id": 7}]
    results = [
        CheckResult("core.orders__a", "core.orders", "blocking", 0),
        CheckResult("core.orders__b", "core.orders", "blocking", 3, rows),
        CheckResult("core.orders__c", "core.orders", "warning", 0),
        CheckResult("core.orders__d", "core.orders", "warning", 2, rows),
    ]
    found = {each.check_name: each for each in evaluations(results)}
    assert {name: each.passed for name, each in found.items()} == {"a": True, "b": False, WARNINGS: False}
    assert found["b"].severity == dg.AssetCheckSeverity.ERROR
    assert found[WARNINGS].severity == dg.AssetCheckSeverity.WARN
    assert found[WARNINGS].metadata["d"].value == 2
    assert found["b"].metadata["first"].value == {"b": rows}


def execute(place: Place, kind: str, order_ids: str = "") -> Counter[str]:
    """Run a job as Dagster's daemon does; return how many events of each type its records have."""
    settings = load_settings(environ={**place.environ, "ORDERMART_VERIFY__SECONDS": "0"})
    config = {"resources": {"run": {"config": {"order_ids": order_ids}}}}
    with dg.DagsterInstance.get() as instance:
        done = wiring(settings).resolve_job_def(kind).execute_in_process(instance=instance, run_config=config)
        events = [each.dagster_event for each in instance.all_logs(done.run_id)]
    assert done.success
    return Counter(event.event_type_value for event in events if event)


def evaluated() -> set[str]:
    """Return the blocking claims that Dagster has an evaluation of."""
    keys = {name: dg.AssetCheckKey(dg.AssetKey(name.partition("__")[0].split(".")), name.partition("__")[2])
            for name in BLOCKING}  # fmt: skip
    with dg.DagsterInstance.get() as instance:
        found = instance.event_log_storage.get_latest_asset_check_execution_by_key(list(keys.values()))
    return {name for name, key in keys.items() if key in found}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_run_of_dagster_shows_what_changed(place: Place) -> None:
    """A first run reports all; one without news no table and no check; one with news those of the tables changed."""
    dagster_home(place.data)
    first = execute(place, NIGHT, str(place.ids))
    assert first["ASSET_MATERIALIZATION"] == len(tables()) + 4
    assert evaluated() == BLOCKING
    quiet = execute(place, WEBHOOKS)
    assert quiet["ASSET_MATERIALIZATION"] == 4
    assert quiet["ASSET_CHECK_EVALUATION"] == quiet["ASSET_CHECK_EVALUATION_PLANNED"] == quiet["STEP_SKIPPED"] == 0
    with WorkList(place.data / "inbox" / "worklist.sqlite") as work:
        work.add("orders", [int(place.ids.read_text().split()[0])], why="a test")
    again = execute(place, WEBHOOKS)
    assert 0 < again["ASSET_CHECK_EVALUATION"] < first["ASSET_CHECK_EVALUATION"]
    assert again["ASSET_MATERIALIZATION"] < first["ASSET_MATERIALIZATION"]
    ended = [(run.kind, run.run_state) for run in runs(place.data)]
    assert ended == [(NIGHT, "good"), (WEBHOOKS, "good"), (WEBHOOKS, "good")]
