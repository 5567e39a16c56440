"""Which rules fit an order is exact: as Decimal arithmetic says, for every rule of the catalogue."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb


def rules(con: duckdb.DuckDBPyConnection, part: str) -> list[tuple[int, int, str]]:
    """Return form_no, rounding_no and name of every rule of a part."""
    query = "select form_no, rounding_no, rule from audit.formula_rules where part = ?"
    return con.execute(query, [part]).fetchall()


def fitting(con: duckdb.DuckDBPyConnection, part: str) -> dict[int, set[str]]:
    """Return the names of the rules that fit, by order."""
    rows = con.execute(f"select order_id, tells >> 6, fits from audit.{part}_fits").fetchall()
    kept = dict(con.execute("select distinct rounding_no, kept_decimals from audit.formula_rules").fetchall())
    found = {}
    for order_id, decimals, fits in rows:

        def mask(number: int, decimals: int = decimals, fits: list[int] = fits) -> int:
            if number == 1 or len(fits) > 1:
                return fits[number - 1]
            return fits[0] if kept[number] >= decimals else 0

        found[order_id] = {name for form, number, name in rules(con, part) if mask(number) >> (form - 1) & 1}
    return found


@pytest.mark.parametrize("decimals", [0, 1, 2, 3, 4])
def test_every_rule_fits_where_decimal_arithmetic_says(
    decimals: int, make_orders: Callable[..., Any], gather: Callable[..., Any], world: Any
) -> None:
    """884 subtotal rules and 117 total rules fit exactly the orders that Decimal arithmetic says, ties included."""
    chance = random.Random(decimals)
    orders = make_orders(decimals, 60, decimals)
    con = gather([])
    names = {part: [name for _, _, name in rules(con, part)] for part in ("subtotal", "total")}
    for order in orders:
        order.subtotal = world.subtotal_by(chance.choice(names["subtotal"]), order)
        order.total = world.total_by(chance.choice(names["total"]), order)
    con = gather(orders)
    subtotals, totals = fitting(con, "subtotal"), fitting(con, "total")
    for order in orders:
        assert subtotals[order.order_id] == {
            n for n in names["subtotal"] if world.subtotal_by(n, order) == order.subtotal
        }
        assert totals[order.order_id] == {n for n in names["total"] if world.total_by(n, order) == order.total}
