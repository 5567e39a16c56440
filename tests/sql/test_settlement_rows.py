"""workings.settlement_rows: components added up; a day in the store's zone; a store by its name."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sql.conftest import Run

LINE = {
    "entry_no": 1,
    "source_row": 2,
    "settlement_no": 2,
    "kind": "order",
    "line_date": "2026-10-02",
    "currency": "EUR",
    "settled_currency": "EUR",
}
STATEMENT = {"entry_no": 1, "platform": "p", "window_minutes": 60}


def settlement(run_table: Run, *lines: dict[str, Any]) -> dict[str, Any]:
    """Return the one settlement of these lines."""
    (row,) = settlements(run_table, *lines)
    return row


def settlements(run_table: Run, *lines: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the settlements of these lines."""
    stores = [{"store_id": 7, "name": "North", "timezone": "America/New_York"}, {"store_id": 8, "name": "Twin"}]
    return run_table(
        "workings.settlement_rows",
        {
            "raw.settlement_lines": [LINE | line for line in lines],
            "raw.settlement_statements": [STATEMENT],
            "mart.orders": [{"order_id": 5, "business_date": "2026-09-30", "total_price": 12, "currency": "EUR"}],
            "core.stores": [*stores, {"store_id": 9, "name": "Twin"}],
        },
    )


def test_a_sale_is_on_the_day_of_its_order(run_table: Run) -> None:
    """Ours, if it is named by id; else as stated; else that of the line. The commission is no part of any base."""
    line = {"component": "items", "amount": 10}
    stated = line | {"order_date": "2026-10-01"}
    for given, day in ((stated | {"order_id": 5}, 30), (stated, 1), (line, 2)):
        assert settlement(run_table, given)["sold_on"].day == day
    parts = {"items": "10", "promotion": "-1", "tip": "2", "commission": "-1.5"}
    row = settlement(run_table, *({"component": name, "amount": amount} for name, amount in parts.items()))
    assert ([*map(float, row["commission_bases"])], float(row["commission_amount"])) == ([11, 10, 9], 1.5)


def test_components_add_up(run_table: Run) -> None:
    """Gross, refunds and costs are apart; the gross of a refund is a refund."""
    parts = {"items": "10", "tip": "2", "refund": "-3", "commission": "-1.5"}
    lines = [{"component": name, "amount": amount} for name, amount in parts.items()]
    names = ("gross_amount", "refund_amount", "cost_amount", "net_amount")
    assert [float(settlement(run_table, *lines)[name]) for name in names] == [12, -3, -1.5, 7.5]
    refunded = settlement(run_table, {"kind": "refund", "component": "items", "amount": "-4"})
    assert [float(refunded[name]) for name in names] == [0, -4, 0, -4]


def test_store_and_day_are_ours(run_table: Run) -> None:
    """A time is on the store's day; a name is a store unless two have it."""
    line = {"component": "items", "amount": 1, "line_at": "2026-10-02T02:00:00Z"}
    row = settlement(run_table, line | {"store_ref": "North"})
    assert (row["store_id"], row["line_date"]) == (7, dt.date(2026, 10, 1))
    row = settlement(run_table, line | {"store_ref": "Twin"})
    assert (row["store_id"], row["line_date"]) == (None, dt.date(2026, 10, 2))


def test_a_refund_that_pays_the_rest_completes_its_order(run_table: Run) -> None:
    """To the cent and once; another amount, one that is no part of the order, or one without its order is a refund."""
    sale = {"component": "items", "amount": 10, "order_id": 5}
    tip = {"component": "tip", "amount": 2, "kind": "refund", "order_id": 5, "settlement_no": 3, "source_row": 3}
    twice = tip | {"settlement_no": 4, "source_row": 4}

    def kinds(*lines: dict[str, Any]) -> list[tuple[str, float]]:
        found = settlements(run_table, *lines)
        return [(row["statement_kind"], float(row["gross_amount"])) for row in found]

    assert kinds(sale, tip) == [("order", 10), ("addition", 2)]
    assert kinds(sale, tip, twice) == [("order", 10), ("addition", 2), ("refund", 0)]
    assert kinds(sale, tip | {"amount": 1}, twice | {"amount": 1}) == [("order", 10), ("addition", 1), ("addition", 1)]
    assert kinds(sale | {"amount": 12}, tip) == [("order", 12), ("refund", 0)]
    for other in ({"amount": "1.99"}, {"component": "adjustment"}, {"currency": "USD"}, {"order_id": None}):
        assert kinds(sale, tip | other) == [("order", 10), ("refund", 0)], other
    assert kinds(tip | {"amount": 12}) == [("refund", 0)]
