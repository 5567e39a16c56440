"""audit.control_totals: stated against actual totals of a store-day."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

DAY = dt.date(2026, 10, 31)


def total(store_id: int, orders: int | None, amount: str | None, classes: str = "counted") -> dict[str, Any]:
    """Return a row of raw.control_totals."""
    key = {"business_date": DAY, "store_id": store_id, "amount_field": "total_price", "sale_classes": classes}
    act = {"entry_no": 1, "imported_at": "2026-11-02T08:00:00Z"}
    return key | act | {"order_count": orders, "amount": amount}


def order(order_id: int, store_id: int, price: str | None, sale_class: str = "counted") -> dict[str, Any]:
    """Return a row of mart.orders."""
    key = {"order_id": order_id, "store_id": store_id, "business_date": DAY}
    return key | {"sale_class": sale_class, "total_price": price}


@pytest.mark.duckdb2
def test_tie_out_status_is_exact(run_table: Run) -> None:
    """Equal order counts and amounts tie; any difference is a variance of exactly that size."""
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
    assert [(r["store_id"], r["tie_out_status"], r["order_count_variance"], r["amount_variance"]) for r in rows] == [
        (1, "tied", 0, 0),
        (1, "tied", None, 0),
        (2, "variance", 0, Decimal("0.01")),
        (3, "variance", -4, Decimal("-7.5")),
    ]


def test_status_is_unknown_with_a_reason(run_table: Run) -> None:
    """An unknown store, unmapped orders outside the total, and orders without the amount are named."""
    rows = run_table(
        "audit.control_totals",
        {
            "raw.control_totals": [total(1, 1, "1"), total(2, 1, "1"), total(3, 1, "1"), total(4, 1, None)],
            "mart.orders": [order(1, 2, "1"), order(2, 2, "9", "unmapped"), order(3, 3, None), order(4, 4, None)],
        },
    )
    assert [(row["store_id"], row["tie_out_status"], row["unknown_reason"]) for row in rows] == [
        (1, "unknown", "store_unknown"),
        (2, "unknown", "unmapped_orders"),
        (3, "unknown", "missing_amount"),
        (4, "tied", None),
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
    given = [row | {"tie_out_status": status} for status in ("tied", "unknown")]
    assert run_check("audit.control_totals__agree", {"audit.control_totals": given}) == []
    (found,) = run_check(
        "audit.control_totals__agree", {"audit.control_totals": [row | {"tie_out_status": "variance"}]}
    )
    assert (found["entity_id"], found["location"], found["residual"]) == (7, "2026-10-31 tip", -2)
