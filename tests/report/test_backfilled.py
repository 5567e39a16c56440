"""The summary of a backfill, and a sentence of that of a run."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest

from pipelines.landing.archives import Backfilled
from pipelines.landing.raw_rows import Refusal
from pipelines.report.outcomes import backfilled, untestable


def test_backfill_summary_lists_counts_and_rejections() -> None:
    """The summary has counts, skipped loads, and rejections."""
    done = Backfilled("orders", 3, Counter(accepted=48_000, quarantined=1), 3, 1, [Refusal(7, "no_id", "/id")])
    lines = list(backfilled(done))
    assert lines[0] == "orders: 48,000 accepted, 1 quarantined, files: 3, loads: 3"
    assert lines[1] == "  already landed, skipped: 1 of the loads"
    assert lines[2] == "  rejected 7: no_id /id"
    assert "nothing was queued" in lines[3]


@pytest.mark.parametrize(
    ("testable", "orders", "is_said"), [(0, 500, True), (9, 20, True), (10, 20, False), (0, 19, False)]
)
def test_run_says_how_few_orders_can_be_tested(testable: int, orders: int, is_said: bool) -> None:
    """Once there are some, and most of them are indeterminate; breaks count as tested."""
    with duckdb.connect() as db:
        db.execute("create schema mart")
        verdict = f"if(n < {testable}, 'total_break', 'indeterminate') as verdict"
        db.execute(f"create table mart.order_reconciliation as select {verdict} from range({orders}) as t (n)")
        said = [*untestable(db)]
    assert [each.partition(":")[0] for each in said] == [f"{testable} of {orders} orders can be tested"] * is_said
