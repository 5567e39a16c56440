"""audit.control_totals: what was stated of a store's day against what our orders come to."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[[str, dict[str, list[dict[str, Any]]]], list[dict[str, Any]]]

DAY = dt.date(2026, 10, 31)


def total(store_id: int, orders: int | None, amount: str | None, classes: str = "counted") -> dict[str, Any]:
    """Return a row of raw.control_totals."""
    key = {"business_date": DAY, "store_id": store_id, "amount_field": "total_price", "sale_classes": classes}
    act = {"entry_no": 1, "imported_at": "2026-11-02T08:00:00Z"}
    return key | act | {"orders": orders, "amount": amount}


def order(order_id: int, store_id: int, price: str | None, sale_class: str = "counted") -> dict[str, Any]:
    """Return a row of mart.orders."""
    key = {"order_id": order_id, "store_id": store_id, "business_date": DAY}
    return key | {"sale_class": sale_class, "total_price": price}


@pytest.mark.duckdb2
def test_equal_and_different(run_table: Run) -> None:
    """What agrees in orders and money is equal; a cent or an order off is different, by exactly that."""
    rows = run_table(
        "audit.control_totals",
        {
            "raw.control_totals": [
                total(1, 2, "20.01"),
                total(1, None, "25.01", "counted+excluded"),
                total(2, 1, "5"),
                total(3, 4, "7.5"),
            ],
            "mart.orders": [
                order(1, 1, "10"),
                order(2, 1, "10.01"),
                order(3, 1, "5", "excluded"),
                order(4, 2, "5.01"),
            ],
            "core.stores": [{"store_id": 3}],
        },
    )
    assert [(r["store_id"], r["comparison"], r["order_count_variance"], r["amount_variance"]) for r in rows] == [
        (1, "equal", 0, 0),
        (1, "equal", None, 0),
        (2, "different", 0, Decimal("0.01")),
        (3, "different", -4, Decimal("-7.5")),
    ]


def test_what_cannot_be_compared(run_table: Run) -> None:
    """An unknown store, unmapped orders that a total does not count, and orders without the part are said."""
    rows = run_table(
        "audit.control_totals",
        {
            "raw.control_totals": [total(1, 1, "1"), total(2, 1, "1"), total(3, 1, "1"), total(4, 1, None)],
            "mart.orders": [order(1, 2, "1"), order(2, 2, "9", "unmapped"), order(3, 3, None), order(4, 4, None)],
        },
    )
    assert [(row["store_id"], row["comparison"], row["unknown_reason"]) for row in rows] == [
        (1, "unknown", "store_unknown"),
        (2, "unknown", "unmapped_order_count"),
        (3, "unknown", "part_not_stated"),
        (4, "equal", None),
    ]


def test_the_claim(run_check: Run) -> None:
    """A different day is found with its residual; an equal one and one that cannot be compared are not."""
    row = {
        "business_date": DAY,
        "store_id": 7,
        "amount_field": "tip",
        "order_count_variance": -1,
        "amount_variance": "-2",
    }
    given = [row | {"comparison": each} for each in ("equal", "unknown")]
    assert run_check("audit.control_totals__agree", {"audit.control_totals": given}) == []
    (found,) = run_check("audit.control_totals__agree", {"audit.control_totals": [row | {"comparison": "different"}]})
    assert (found["entity_id"], found["location"], found["residual"]) == (7, "2026-10-31 tip", -2)
