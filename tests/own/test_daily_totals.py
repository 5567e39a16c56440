"""docs/models/daily_totals.sql: counted orders and their totals, once per business day and currency."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def test_only_counted_orders_are_added_up_by_day_and_currency(run_model: Run) -> None:
    """An order without a total is an order; a day of orders without one has no total."""
    day = dt.date(2026, 11, 1)
    orders = [
        {"business_date": day, "currency": "EUR", "sale_class": "counted", "total_price": Decimal(5)},
        {"business_date": day, "currency": "EUR", "sale_class": "counted", "total_price": None},
        {"business_date": day, "currency": "EUR", "sale_class": "excluded", "total_price": Decimal(9)},
        {"business_date": None, "currency": None, "sale_class": "counted", "total_price": None},
    ]
    assert [tuple(row.values()) for row in run_model("daily_totals", {"mart.orders": orders})] == [
        (day, "EUR", 2, Decimal(5)),
        (None, None, 1, None),
    ]
