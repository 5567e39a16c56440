"""The summary of a long archive."""

from __future__ import annotations

from collections import Counter

from pipelines.landing import Backfilled, Refusal
from pipelines.report.summary import backfilled


def test_what_a_reader_must_know_is_said() -> None:
    """Counts, what was landed before, orders without a menu of their time, and refusals stand in it."""
    done = Backfilled("orders", 3, Counter(accepted=48_000, quarantined=1), 3, 1, 31_000, [Refusal(7, "no_id", "/id")])
    said = backfilled(done).splitlines()
    assert said[0] == "orders: 48,000 accepted, 1 quarantined, files: 3, loads: 3"
    assert said[1] == "  landed before, and not again: 1 of the loads"
    assert "no menu of their store was observed: 31,000 orders" in said[2]
    assert said[3] == "  refused 7: no_id /id"
    assert "nothing of it is queued" in said[4]
