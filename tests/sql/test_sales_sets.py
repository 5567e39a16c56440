"""sql/examples/18_sales_sets.sql: which statuses are sales, as control totals tell."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.sql.conftest import Run

    Rows = list[dict[str, Any]]

STATUSES = ("cancelled", "delivered", "preparing", "ready")


def orders_of(days: int, statuses: Iterable[str | None] = STATUSES, seed: int = 1) -> Rows:
    """Return the orders of so many days of one store: up to two of each status a day."""
    chance = random.Random(seed)
    first = dt.date(2026, 10, 1)
    return [
        {
            "order_id": 100 * day + 10 * place + n,
            "store_id": 1,
            "business_date": first + dt.timedelta(days=day),
            "status": status,
            "is_deleted": False,
            "total_price": Decimal(chance.randrange(100, 3000)) / 100,
        }
        for day in range(days)
        for place, status in enumerate(statuses)
        for n in range(chance.randrange(3))
    ]


def totals_of(orders: Rows, counted: Iterable[str | None], *, money: bool = True, number: bool = True) -> Rows:
    """Return the control totals of days on which orders of these statuses were sales."""
    return [
        {
            "business_date": day,
            "store_id": 1,
            "amount_field": "total_price",
            "sale_classes": "counted",
            "control_order_count": len(sold) if number else None,
            "control_amount": sum((each["total_price"] for each in sold), Decimal(0)) if money else None,
        }
        for day in sorted({each["business_date"] for each in orders})
        for sold in [[each for each in orders if each["business_date"] == day and each["status"] in counted]]
    ]


@pytest.mark.parametrize("truth", [["delivered"], ["delivered", "ready"], list(STATUSES)])
@pytest.mark.parametrize("stated", [{}, {"money": False}, {"number": False}])
def test_the_true_set_ties_all_days(run_example: Run, truth: list[str], stated: dict[str, bool]) -> None:
    """The statuses that finance counted are the first of 15 sets, by numbers, money or both; no other ties all."""
    orders = orders_of(40)
    totals = totals_of(orders, truth, **stated)
    first, *others = run_example("sales_sets", {"mart.orders": orders, "audit.control_totals": totals})
    assert (first["statuses"], first["tied_store_days"], first["store_days"]) == (truth, len(totals), len(totals))
    assert len(others) == 14
    assert all(each["tied_store_days"] < each["store_days"] == len(totals) for each in others)


def test_a_status_that_days_cannot_tell(run_example: Run) -> None:
    """Where the orders of a status cost nothing and only money is stated, the sets with and without it tie alike."""
    orders = orders_of(40)
    for each in orders:
        each["total_price"] *= each["status"] != "preparing"
    totals = totals_of(orders, ["delivered"], number=False)
    one, other, third, *_ = run_example("sales_sets", {"mart.orders": orders, "audit.control_totals": totals})
    assert [one["statuses"], other["statuses"]] == [["delivered"], ["delivered", "preparing"]]
    assert one["tied_store_days"] == other["tied_store_days"] > third["tied_store_days"]


def test_what_is_not_compared(run_example: Run) -> None:
    """Gone orders are in no set, and totals of other fields, classes and days without orders in no comparison."""
    orders = orders_of(40, ["delivered", None])
    totals = totals_of(orders, ["delivered"])
    gone = orders[0] | {"order_id": 1_000_001, "is_deleted": True}
    others: Rows = [
        {"business_date": "2027-01-01", "amount_field": "total_price", "sale_classes": "counted"},
        {"business_date": "2026-10-02", "amount_field": "tip", "sale_classes": "counted"},
        {"business_date": "2026-10-02", "amount_field": "total_price", "sale_classes": "deleted"},
    ]
    totals += [each | {"store_id": 1, "control_order_count": 3} for each in others]
    rows = run_example("sales_sets", {"mart.orders": [*orders, gone], "audit.control_totals": totals})
    assert [(row["statuses"], row["tied_store_days"] == row["store_days"]) for row in rows] == [
        (["delivered"], True),
        (["(none)", "delivered"], False),
        (["(none)"], False),
    ]


def test_sets_are_bounded(run_example: Run) -> None:
    """Of nine statuses the eight of most store-days make 255 sets; without totals there is no row."""
    nine = [f"status {n}" for n in range(9)]
    orders = [each for each in orders_of(20, nine) if each["status"] != "status 3" or each["order_id"] < 200]
    rows = run_example("sales_sets", {"mart.orders": orders, "audit.control_totals": totals_of(orders, nine[4:5])})
    assert len(rows) == 255
    assert all("status 3" not in row["statuses"] for row in rows)
    assert run_example("sales_sets", {"mart.orders": orders}) == []
