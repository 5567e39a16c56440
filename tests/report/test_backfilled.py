"""The summary of a backfill."""

from __future__ import annotations

from collections import Counter

from pipelines.landing.archives import Backfilled
from pipelines.landing.raw_rows import Refusal
from pipelines.report.outcomes import backfilled


def test_backfill_summary_lists_counts_and_rejections() -> None:
    """The summary has counts, skipped loads, and rejections."""
    done = Backfilled("orders", 3, Counter(accepted=48_000, quarantined=1), 3, 1, [Refusal(7, "no_id", "/id")])
    lines = list(backfilled(done))
    assert lines[0] == "orders: 48,000 accepted, 1 quarantined, files: 3, loads: 3"
    assert lines[1] == "  already landed, skipped: 1 of the loads"
    assert lines[2] == "  rejected 7: no_id /id"
    assert "nothing was queued" in lines[3]
