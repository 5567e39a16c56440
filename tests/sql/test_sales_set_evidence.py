"""audit.sales_set_evidence: which statuses are sales, as control totals tell."""

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
TABLE = "audit.sales_set_evidence"


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
            "order_count": len(sold) if number else None,
            "amount": sum((each["total_price"] for each in sold), Decimal(0)) if money else None,
        }
        for day in sorted({each["business_date"] for each in orders})
        for sold in [[each for each in orders if each["business_date"] == day and each["status"] in counted]]
    ]


def proposed(rows: Rows) -> list[list[str]]:
    """Return the sets that are proposed."""
    return [row["statuses"] for row in rows if row["verdict"] == "proposed"]


def best(rows: Rows) -> dict[str, Any]:
    """Return the row of the set that ties most."""
    (row,) = [row for row in rows if row["reason"] is not None]
    return row


@pytest.mark.slow
@pytest.mark.duckdb2
@pytest.mark.parametrize("truth", [["delivered"], ["delivered", "ready"], ["cancelled", "preparing"], list(STATUSES)])
@pytest.mark.parametrize("stated", [{}, {"money": False}, {"number": False}])
def test_the_true_set_is_proposed(run_table: Run, truth: list[str], stated: dict[str, bool]) -> None:
    """The statuses that finance counted are found out of 15 sets, from numbers, money or both; all rivals fail."""
    orders = orders_of(60)
    given = {"mart.orders": orders, "raw.control_totals": totals_of(orders, truth, **stated)}
    rows = run_table(TABLE, given | {"raw.settings": [{"sales_counted": ["delivered"]}]})
    assert len(rows) == 15
    assert proposed(rows) == [truth]
    assert {row["verdict"] for row in rows if row["statuses"] != truth} == {"refuted"}
    assert [row["statuses"] for row in rows if row["is_configured"]] == [["delivered"]]
    assert best(rows)["tied_store_day_count"] == best(rows)["store_day_count"] == len(given["raw.control_totals"])


@pytest.mark.slow
def test_a_few_wrong_totals_do_not_hide_it(run_table: Run) -> None:
    """Two of sixty days that tie under no set leave the proposal, ten take it away."""
    orders = orders_of(60)
    totals = totals_of(orders, ["delivered", "ready"])
    for wrong in totals[:2]:
        wrong["order_count"] += 50
    assert proposed(run_table(TABLE, {"mart.orders": orders, "raw.control_totals": totals})) == [["delivered", "ready"]]
    for wrong in totals[2:10]:
        wrong["order_count"] += 50
    rows = run_table(TABLE, {"mart.orders": orders, "raw.control_totals": totals})
    assert proposed(rows) == []
    assert best(rows)["reason"].startswith("no set ties enough: the best one ties ")


@pytest.mark.slow
def test_a_status_that_days_cannot_tell(run_table: Run) -> None:
    """Where the orders of a status cost nothing and only money is stated, nothing is proposed, and the rival named."""
    orders = orders_of(60)
    for each in orders:
        each["total_price"] *= each["status"] != "preparing"
    totals = totals_of(orders, ["delivered"], number=False)
    rows = run_table(TABLE, {"mart.orders": orders, "raw.control_totals": totals})
    assert proposed(rows) == []
    assert (best(rows)["statuses"], best(rows)["verdict"]) == (["delivered"], "undecided")
    assert best(rows)["reason"].startswith(
        "too few store-days distinguish it from delivered + preparing: 0, of which it ties 0"
    )
    indistinguishable = [row["statuses"] for row in rows if row["verdict"] == "indistinguishable"]
    assert indistinguishable == [["delivered", "preparing"]]


def test_few_days_propose_nothing(run_table: Run) -> None:
    """19 store-days are too few where 20 are asked for; a rare status leaves its sets undecided."""
    orders = orders_of(19, ["cancelled", "delivered"], seed=3)
    given = {"mart.orders": orders, "raw.control_totals": totals_of(orders, ["delivered"])}
    rows = run_table(TABLE, given)
    assert proposed(rows) == []
    assert best(rows)["reason"].endswith(" comparable store-days; 20 are required")
    assert proposed(run_table(TABLE, given | {"raw.settings": [{"formula_min_distinguishing_orders": 5}]})) == [
        ["delivered"]
    ]


def test_as_many_days_as_asked_for_are_enough(run_table: Run) -> None:
    """20 store-days where 20 are asked for, each of which tells both sets apart, propose the set."""
    orders = [each for each in orders_of(60, ["cancelled", "delivered"], seed=3) if each["status"] == "delivered"]
    days = sorted({each["business_date"] for each in orders})[:20]
    sold = [each for each in orders if each["business_date"] in days]
    other = {"status": "cancelled", "total_price": Decimal(1)}
    refused = [each | other | {"order_id": -each["order_id"]} for each in sold]
    given = {"mart.orders": sold + refused, "raw.control_totals": totals_of(sold, ["delivered"])}
    rows = run_table(TABLE, given)
    assert (proposed(rows), best(rows)["reason"]) == (
        [["delivered"]],
        "ties 20 of 20 store-days; every rival is refuted",
    )


def test_what_is_not_compared(run_table: Run) -> None:
    """Gone orders are in no set; days of unstated parts, of other classes and without orders are left out."""
    orders = orders_of(40, ["delivered", None])
    given = {"mart.orders": orders, "raw.control_totals": totals_of(orders, ["delivered"])}
    rows = run_table(TABLE, given)
    assert proposed(rows) == [["delivered"]]
    assert [row["statuses"] for row in rows] == [["(none)"], ["(none)", "delivered"], ["delivered"]]
    days = best(rows)["store_day_count"]
    first = orders[0]
    given["mart.orders"] = [
        *orders,
        first | {"order_id": 1_000_001, "is_deleted": True},
        first | {"order_id": 1_000_002, "total_price": None},
    ]
    given["raw.control_totals"] += [
        {
            "business_date": "2027-01-01",
            "store_id": 1,
            "amount_field": "tip",
            "sale_classes": "counted",
            "order_count": 3,
        },
        {
            "business_date": "2026-10-02",
            "store_id": 1,
            "amount_field": "tip",
            "sale_classes": "deleted",
            "order_count": 3,
        },
    ]
    rows = run_table(TABLE, given)
    assert (best(rows)["store_day_count"], best(rows)["tied_store_day_count"]) == (days - 1, days - 1)


@pytest.mark.slow
def test_sets_are_bounded(run_table: Run) -> None:
    """Ten statuses make 1,023 sets; of eleven none are compared, and that is said; without totals there is no row."""
    ten = [f"status {n}" for n in range(10)]
    orders = orders_of(60, ten)
    rows = run_table(TABLE, {"mart.orders": orders, "raw.control_totals": totals_of(orders, ten[3:5])})
    assert (len(rows), proposed(rows)) == (1023, [ten[3:5]])
    orders = orders_of(60, [*ten, "one more"])
    (row,) = run_table(TABLE, {"mart.orders": orders, "raw.control_totals": totals_of(orders, ten)})
    assert (row["verdict"], row["store_day_count"]) == ("undecided", 0)
    assert row["reason"] == "11 statuses: sets are compared for up to 10"
    assert run_table(TABLE, {"mart.orders": orders}) == []
