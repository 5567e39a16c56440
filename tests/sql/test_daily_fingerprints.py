"""workings.daily_fingerprints: a fingerprint of each day's orders and amounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sql.conftest import Run

PLACE = {"store_id": 5, "business_date": "2026-10-31", "sale_class": "counted"}
ORDER = {"order_id": 1, **PLACE, "tip": "1", "total_price": "10"}


def prints(run_table: Run, *orders: dict[str, Any]) -> list[tuple[int, str]]:
    """Return number and fingerprint of each place."""
    rows = run_table("workings.daily_fingerprints", {"mart.order_reconciliation": list(orders)})
    return [(row["order_count"], row["fingerprint"]) for row in rows]


def test_any_amount_makes_another_fingerprint(run_table: Run) -> None:
    """Equal orders have one fingerprint, in whatever order; a cent, or an amount that is no more, has another."""
    other = ORDER | {"order_id": 2}
    (both,) = prints(run_table, ORDER, other)
    assert prints(run_table, other, ORDER) == [both]
    assert both[0] == 2
    for changed in ({"tip": "1.01"}, {"tip": None}, {"line_amount": "0"}, {"order_id": 3}):
        assert prints(run_table, ORDER, other | changed) != [both]


def test_equal_changes_do_not_cancel(run_table: Run) -> None:
    """Two orders that change alike change the fingerprint."""
    before = prints(run_table, ORDER, ORDER | {"order_id": 2})
    assert prints(run_table, ORDER | {"tip": "3"}, ORDER | {"order_id": 2, "tip": "3"}) != before


def test_a_row_a_place(run_table: Run) -> None:
    """Another class, another store and no day at all are places of their own."""
    places = [{"sale_class": "deleted"}, {"store_id": None}, {"business_date": None}]
    assert len(prints(run_table, ORDER, *(ORDER | each for each in places))) == 4
