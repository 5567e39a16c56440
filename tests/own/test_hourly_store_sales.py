"""docs/models/hourly_store_sales.sql: one row per store, business day, hour of the day and sale class."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sql.conftest import Run

DAILY: dict[str, Any] = {"store_id": 1, "business_date": "2026-01-10", "sale_class": "counted", "order_count": 1}
DAILY |= {"line_count": 1, "tip": None, "discount": None, "total_price": None}


def order(order_id: int, time: str | None, **more: Any) -> dict[str, Any]:
    """Return a row of mart.orders: store 1, business day 10 January, counted, created at a local time."""
    return {
        "order_id": order_id,
        "store_id": 1,
        "business_date": "2026-01-10",
        "sale_class": "counted",
        "currency": "EUR",
        "created_at_local": time and f"2026-01-{time}",
        "hour": time and int(time[3:5]),
        "daypart": time and f"part of {time[3:5]}",
        "line_count": 1,
        "unit_count": 2,
    } | more


def test_hours_are_of_the_stores_day(run_model: Run) -> None:
    """Hours after midnight stay in their business day; orders without a time are under a null hour, not dropped."""
    orders = [
        order(1, "10 12:00:00", total_price="10.10"),
        order(2, "10 12:59:59", total_price="0.0001"),
        order(3, "11 01:30:00", total_price="5"),
        order(4, "10 12:30:00", total_price="7", sale_class="deleted"),
        order(5, None, unit_count=None),
    ]
    rows = run_model("hourly_store_sales", {"mart.orders": orders})
    assert [(row["hour"], row["sale_class"], row["order_count"], row["total_price"]) for row in rows] == [
        (1, "counted", 1, Decimal(5)),
        (12, "counted", 2, Decimal("10.1001")),
        (12, "deleted", 1, Decimal(7)),
        (None, "counted", 1, None),
    ]
    assert {row["business_date"] for row in rows} == {dt.date(2026, 1, 10)}
    assert [row["daypart"] for row in rows] == ["part of 01", "part of 12", "part of 12", None]


def test_check_finds_hours_that_do_not_add_up(run_claim: Run) -> None:
    """An order too many in one hour, and an amount that a day does not have, are found."""
    name = "hourly_store_sales__tie_to_daily_store_sales"
    days = [DAILY | {"order_count": 2, "total_price": 5}]
    hours = [DAILY | {"line_count": lines, "total_price": 2.5} for lines in (1, 0)]
    assert run_claim(name, {"own.hourly_store_sales": hours, "mart.daily_store_sales": days}) == []
    for wrong in ({"order_count": 2}, {"total_price": 2.4}, {"tip": 1}):
        spoiled = [hours[0] | wrong, hours[1]]
        (found,) = run_claim(name, {"own.hourly_store_sales": spoiled, "mart.daily_store_sales": days})
        assert (found["store_id"], found["business_date"]) == (1, "2026-01-10")
