"""audit.changed_closed_days: closed days whose orders may differ from their books."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sql.conftest import Run

DAY = "2026-10-31"
EVERY = {"business_date": DAY, "is_every_store": True, "close_entry_no": 1}
REOPENED = {"business_date": DAY, "store_id": 6, "is_every_store": False, "close_entry_no": None}


def day(store_id: int | None, fingerprint: str, order_count: int = 1, **columns: Any) -> dict[str, Any]:
    """Return a store's day with a fingerprint of its counted orders."""
    place = {"business_date": DAY, "store_id": store_id, "sale_class": "counted"}
    return place | {"fingerprint": fingerprint, "order_count": order_count} | columns


def changed(run_table: Run, **given: list[dict[str, Any]]) -> list[tuple[Any, Any]]:
    """Return store and close of each day that may differ."""
    rows = run_table("audit.changed_closed_days", {key.replace("__", "."): rows for key, rows in given.items()})
    return [(row["store_id"], row["close_entry_no"]) for row in rows]


def test_a_day_with_the_same_orders_is_left_out(run_table: Run) -> None:
    """Another fingerprint, another count, and orders on one side alone are not the same; open days have no books."""
    closed = [day(1, "a"), day(2, "a"), day(3, "a"), day(4, "a"), day(None, "a"), day(6, "a")]
    now = [day(1, "a"), day(2, "b"), day(3, "a", 2), day(5, "a"), day(None, "b"), day(6, "b")]
    now.append(day(1, "c", business_date="2026-11-01"))
    found = changed(
        run_table,
        raw__day_closes=[EVERY, REOPENED],
        audit__closed_day_totals=closed,
        audit__daily_fingerprints=now,
    )
    assert found == [(2, 1), (3, 1), (4, 1), (5, 1), (None, 1)]


def test_a_day_with_a_restatement_is_read(run_table: Run) -> None:
    """Its books are the closed amounts and more, whatever its fingerprint says."""
    place = {"business_date": DAY, "store_id": 1, "sale_class": "counted"}
    same = {"audit__closed_day_totals": [day(1, "a")], "audit__daily_fingerprints": [day(1, "a")]}
    assert changed(run_table, raw__day_closes=[EVERY], **same) == []
    assert changed(run_table, raw__day_closes=[EVERY], raw__restated=[place], **same) == [(1, 1)]
