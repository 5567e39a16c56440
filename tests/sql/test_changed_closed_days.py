"""workings.changed_closed_days: closed days whose orders may differ from their books."""

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
    rows = run_table("workings.changed_closed_days", {key.replace("__", "."): rows for key, rows in given.items()})
    return [(row["store_id"], row["close_entry_no"]) for row in rows]


def test_a_day_with_the_same_orders_is_left_out(run_table: Run) -> None:
    """Another fingerprint, another count, and orders on one side alone are not the same; open days have no books."""
    closed = [day(1, "1"), day(2, "1"), day(3, "1"), day(4, "1"), day(None, "1"), day(6, "1")]
    now = [day(1, "1"), day(2, "2"), day(3, "1", 2), day(5, "1"), day(None, "2"), day(6, "2")]
    now.append(day(1, "3", business_date="2026-11-01"))
    found = changed(
        run_table,
        raw__day_closes=[EVERY, REOPENED],
        workings__closed_day_totals=closed,
        workings__daily_fingerprints=now,
    )
    assert found == [(2, 1), (3, 1), (4, 1), (5, 1), (None, 1)]


def test_a_day_with_a_restatement_is_read(run_table: Run) -> None:
    """Its books are the closed amounts and more, whatever its fingerprint says."""
    place = {"business_date": DAY, "store_id": 1, "sale_class": "counted"}
    same = {"workings__closed_day_totals": [day(1, "1")], "workings__daily_fingerprints": [day(1, "1")]}
    assert changed(run_table, raw__day_closes=[EVERY], **same) == []
    assert changed(run_table, raw__day_closes=[EVERY], raw__restated=[place], **same) == [(1, 1)]


def test_the_platforms_of_a_day_are_taken_together(run_table: Run) -> None:
    """The closed platforms are compared with all orders of the day."""
    closed = [day(1, "1", platform="web"), day(1, "2", platform="app")]
    given = {"raw__day_closes": [EVERY], "workings__closed_day_totals": closed}
    assert changed(run_table, workings__daily_fingerprints=[day(1, "3", 2)], **given) == []
    assert changed(run_table, workings__daily_fingerprints=[day(1, "1", 2)], **given) == [(1, 1)]
