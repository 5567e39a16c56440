"""workings.closed_order_rules: what an order of a closed day keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sql.conftest import Run

DAY = "2026-10-31"


def order(order_id: int, store_id: int = 7, **columns: Any) -> dict[str, Any]:
    """Return an order of the closed day."""
    found = {"order_id": order_id, "store_id": store_id, "business_date": DAY, "platform": "web", "close_entry_no": 4}
    return found | columns


def closed(order_id: int, store_id: int, total_rule: str | None) -> dict[str, Any]:
    """Return the close's record of an order."""
    return {
        "close_entry_no": 4,
        "order_id": order_id,
        "store_id": store_id,
        "business_date": DAY,
        "line_open_parts": [],
        "total_rule": total_rule,
        "total_basis": total_rule and "supported",
    }


def test_an_order_keeps_what_its_close_recorded(run_table: Run) -> None:
    """Each its own; an order of an open day has no row."""
    rows = run_table(
        "workings.closed_order_rules",
        {
            "workings.order_closes": [order(1), order(2), order(3, business_date="2026-11-01", close_entry_no=None)],
            "raw.closed_orders": [closed(1, 7, "a"), closed(2, 7, "b")],
        },
    )
    assert [(row["order_id"], row["total_rule"], row["total_basis"]) for row in rows] == [
        (1, "a", "supported"),
        (2, "b", "supported"),
    ]


def test_a_later_order_takes_the_rule_of_its_day(run_table: Run) -> None:
    """The one of its store's day, where that has one; else the one of the whole day, which has two here: none."""
    rows = run_table(
        "workings.closed_order_rules",
        {
            "workings.order_closes": [order(1), order(2, 8), order(3), order(4, 9)],
            "raw.closed_orders": [closed(1, 7, "a"), closed(2, 8, "b")],
        },
    )
    assert [(row["order_id"], row["total_rule"]) for row in rows] == [(1, "a"), (2, "b"), (3, "a"), (4, None)]


def test_the_subtotals_rule_and_the_totals_are_found_apart(run_table: Run) -> None:
    """A day of two subtotal rules and one total rule has that one for a later order."""
    orders = [closed(number, 7, "a") | {"line_rule": rule} for number, rule in ((1, "x"), (2, "y"))]
    rows = run_table(
        "workings.closed_order_rules",
        {
            "workings.order_closes": [order(3)],
            "raw.closed_orders": orders,
        },
    )
    assert [(row["line_rule"], row["total_rule"]) for row in rows] == [(None, "a")]


def test_the_rule_of_its_population_comes_before_that_of_its_day(run_table: Run) -> None:
    """Subtotal and total each: the population's, even that there was none, else the day's."""
    population = {"order_id": 3, "rule_target": "total", "open_parts": []}
    given = {
        "workings.order_closes": [order(1), order(3)],
        "raw.closed_orders": [closed(1, 7, "a") | {"line_rule": "lines", "subtotal_basis": "agreed"}],
    }
    for rule, basis in (("b", "supported"), ("b", None), (None, None)):
        told = [population | {"rule": rule, "basis": basis}]
        rows = run_table("workings.closed_order_rules", given | {"workings.closed_population_rules": told})
        assert [(row["line_rule"], row["total_rule"]) for row in rows] == [("lines", "a"), ("lines", basis and rule)]
