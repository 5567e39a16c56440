"""mart.daily_store_sales: one row per store, business day and sale class."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from tests.sql.conftest import Run

PARTS = ("subtotal_price", "delivery_price", "tip", "discount", "loyalty_discount", "total_price")


def order(order_id: int, **more: Any) -> dict[str, Any]:
    """Return a row of mart.orders: store 1, 10 January, counted, unless told."""
    return {
        "order_id": order_id,
        "store_id": 1,
        "store_name": "Nord",
        "currency": "EUR",
        "business_date": "2026-01-10",
        "sale_class": "counted",
        "line_count": 1,
        "unit_count": 2,
    } | more


@pytest.mark.duckdb2
def test_classes_stand_side_by_side(run_table: Run) -> None:
    """Each class of a day is a row of its own, and all of them add up to everything placed."""
    orders = [
        order(1, total_price="10.10"),
        order(2, total_price="0.0001"),
        order(3, total_price="5", sale_class="excluded"),
        order(4, total_price="7", sale_class="deleted"),
        order(5, total_price=None, sale_class="unmapped"),
    ]
    rows = run_table("mart.daily_store_sales", {"mart.orders": orders})
    assert [(row["sale_class"], row["order_count"], row["total_price"]) for row in rows] == [
        ("counted", 2, Decimal("10.1001")),
        ("deleted", 1, Decimal(7)),
        ("excluded", 1, Decimal(5)),
        ("unmapped", 1, None),
    ]
    assert sum(row["order_count"] for row in rows) == len(orders)


@pytest.mark.duckdb2
def test_orders_without_day_or_store_stay(run_table: Run) -> None:
    """Orders without a time or a store are under a null of their own, not dropped."""
    nowhere = {"store_id": None, "store_name": None, "currency": None}
    rows = run_table(
        "mart.daily_store_sales",
        {"mart.orders": [order(1, business_date=None), order(2, **nowhere), order(3, business_date=None, **nowhere)]},
    )
    assert [(row["store_id"], row["business_date"], row["order_count"]) for row in rows] == [
        (1, None, 1),
        (None, dt.date(2026, 1, 10), 1),
        (None, None, 1),
    ]


def test_currencies_never_add(run_table: Run) -> None:
    """Stores of different currencies are different rows, each with its label."""
    rows = run_table(
        "mart.daily_store_sales",
        {"mart.orders": [order(1, tip="1"), order(2, tip="1", store_id=2, store_name="Sud", currency="USD")]},
    )
    assert [(row["store_name"], row["currency"], row["tip"]) for row in rows] == [
        ("Nord", "EUR", Decimal(1)),
        ("Sud", "USD", Decimal(1)),
    ]


def test_what_is_lacking_is_counted(run_table: Run) -> None:
    """A part that an order lacks adds nothing, and the row says how many orders lack one."""
    whole = dict.fromkeys(PARTS, "1")
    orders = [order(1, **whole), order(2, **whole | {"tip": None}, unit_count=None), order(3, unit_count=None)]
    (row,) = run_table("mart.daily_store_sales", {"mart.orders": orders})
    assert (row["order_count"], row["incomplete_order_count"], row["tip"], row["discount"]) == (
        3,
        2,
        Decimal(1),
        Decimal(2),
    )
    assert (row["line_count"], row["unit_count"]) == (3, 2)


@pytest.mark.duckdb2
@pytest.mark.parametrize("table", ["daily_store_sales"])
def test_average_order_value(run_table: Run, table: str) -> None:
    """The average is over the orders that state a total, exact to four decimals; without one there is none."""
    largest = "99999999999999.9999"
    orders = [order(n, total_price=price) for n, price in enumerate(("10", "10", "0.0001", None))]
    orders += [order(n, sale_class="excluded", total_price=largest) for n in (7, 8, 9)]
    orders += [order(10, sale_class="unmapped")]
    rows = run_table(f"mart.{table}", {"mart.orders": orders})
    averages = {row["sale_class"]: row["average_order_value"] for row in rows}
    assert averages == {"counted": Decimal("6.6667"), "excluded": Decimal(largest), "unmapped": None}
    assert {row["sale_class"]: row["priced_order_count"] for row in rows} == {
        "counted": 3,
        "excluded": 3,
        "unmapped": 0,
    }


def test_amounts_too_large_for_one_order(run_table: Run) -> None:
    """A hundred of the largest amounts that an order may state add up to the cent."""
    (row,) = run_table(
        "mart.daily_store_sales", {"mart.orders": [order(n, total_price="99999999999999.9999") for n in range(100)]}
    )
    assert row["total_price"] == 100 * Decimal("99999999999999.9999")


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "store_id": st.sampled_from([1, 2, None]),
                "business_date": st.sampled_from(["2026-01-10", "2026-01-11", None]),
                "sale_class": st.sampled_from(["counted", "excluded", "unmapped", "deleted"]),
                "total_price": st.none() | st.decimals(-1000, 1000, places=4).map(str),
            }
        ),
        max_size=30,
    )
)
def test_everything_placed_is_there_once(run_table: Run, placed: list[dict[str, Any]]) -> None:
    """Whatever was placed, orders and money over all rows are those of the orders, and per key too."""
    orders = [order(n, store_name=None, currency=None) | each for n, each in enumerate(placed)]
    rows = run_table("mart.daily_store_sales", {"mart.orders": orders})
    keys = Counter((each["store_id"], each["business_date"], each["sale_class"]) for each in orders)
    assert {
        (row["store_id"], row["business_date"] and row["business_date"].isoformat(), row["sale_class"]): row[
            "order_count"
        ]
        for row in rows
    } == keys
    assert sum(row["total_price"] or 0 for row in rows) == sum(Decimal(each["total_price"] or 0) for each in placed)


@pytest.mark.parametrize("table", ["daily_store_sales"])
@pytest.mark.parametrize(
    ("orders", "units"),
    [
        ([{"line_count": 0, "unit_count": 0}], 0),
        ([{"unit_count": None}], None),
        ([{"line_count": 0, "unit_count": 0}, {"unit_count": None}], 0),
    ],
)
def test_units_of_orders_without_lines_or_quantities(
    run_table: Run, table: str, orders: list[dict[str, Any]], units: int | None
) -> None:
    """An order without lines has 0 units, one whose lines state no quantity an unknown number, which adds nothing."""
    rows = run_table(f"mart.{table}", {"mart.orders": [order(n, **each) for n, each in enumerate(orders)]})
    assert [row["unit_count"] for row in rows] == [units]
