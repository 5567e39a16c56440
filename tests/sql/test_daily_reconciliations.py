"""mart.daily_reconciliations: how far the prices of a store's day explain each other."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

DAY = {"store_id": 1, "business_date": "2026-10-31", "sale_class": "counted", "currency": "EUR"}


def order(order_id: int, verdict: str, **values: Any) -> dict[str, Any]:
    """Return a row of mart.order_reconciliation."""
    return DAY | {"order_id": order_id, "verdict": verdict, "unallocated_amount": "0"} | values


@pytest.mark.duckdb2
def test_orders_by_verdict_and_money(run_table: Run) -> None:
    """Orders are counted by verdict; residuals add up with their sign and without it."""
    given = [
        order(1, "balanced", total_price="5", total_residual="0", subtotal_residual="0"),
        order(2, "total_break", total_price="6", total_residual="0.5"),
        order(3, "both_break", tip="1", total_residual="-0.5", subtotal_residual="0.0001", unallocated_amount="2"),
        order(4, "subtotal_break", line_amount="99999999999999.9999", subtotal_residual="-3"),
        order(5, "indeterminate", line_amount="0.0001"),
    ]
    (row,) = run_table("mart.daily_reconciliations", {"mart.order_reconciliation": given})
    verdicts = ("balanced", "total_break", "subtotal_break", "both_break", "indeterminate")
    assert [row[f"{each}_count"] for each in verdicts] == [1, 1, 1, 1, 1]
    assert (row["order_count"], row["break_count"]) == (5, 3)
    assert (row["total_price"], row["tip"], row["delivery_price"]) == (11, 1, None)
    assert (row["total_residual"], row["total_abs_residual"]) == (0, 1)
    assert (row["subtotal_residual"], row["subtotal_abs_residual"]) == (Decimal("-2.9999"), Decimal("3.0001"))
    assert (row["line_amount"], row["unallocated_amount"]) == (Decimal(10) ** 14, 2)


def test_places_stand_apart(run_table: Run) -> None:
    """Stores, days, classes and orders without a day have rows of their own, in their own currency."""
    given = [
        order(1, "balanced"),
        order(2, "balanced", business_date=None),
        order(3, "balanced", sale_class="deleted"),
        order(4, "balanced", store_id=2, currency="BRL"),
    ]
    rows = run_table("mart.daily_reconciliations", {"mart.order_reconciliation": given})
    assert [(row["store_id"], row["currency"], row["order_count"]) for row in rows] == [
        (1, "EUR", 1),
        (1, "EUR", 1),
        (1, "EUR", 1),
        (2, "BRL", 1),
    ]
