"""Which forms fit an order is exact: as Decimal arithmetic says, for every form of the catalogue."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb


def forms(con: duckdb.DuckDBPyConnection, target: str) -> list[str]:
    """Return every form of a target, unrounded, in the order of their numbers."""
    query = "select rule from audit.formula_rules where rule_target = ? and rounding_no = 1 order by form_no"
    return [row[0] for row in con.execute(query, [target]).fetchall()]


def fitting(con: duckdb.DuckDBPyConnection, target: str) -> dict[int, set[str]]:
    """Return the forms that fit, by order."""
    names = forms(con, target)
    rows = con.execute(f"select order_id, fits from workings.{target}_patterns").fetchall()
    return {order_id: {name for name, fit in zip(names, fits, strict=True) if fit == "1"} for order_id, fits in rows}


@pytest.mark.slow
@pytest.mark.parametrize(
    "decimals", [0, pytest.param(1, marks=pytest.mark.long), 2, 3, pytest.param(4, marks=pytest.mark.long)]
)
def test_every_form_fits_where_decimal_arithmetic_says(
    decimals: int, make_orders: Callable[..., Any], gather: Callable[..., Any], world: Any
) -> None:
    """78 subtotal forms and 83 total forms fit exactly the orders that Decimal arithmetic says."""
    chance = random.Random(decimals)
    orders = make_orders(decimals, 60, decimals)
    check(orders, chance, gather, world)


@pytest.mark.slow
@pytest.mark.parametrize("sign", [1, -1])
def test_large_and_negative_amounts_lose_nothing(
    sign: int, make_orders: Callable[..., Any], gather: Callable[..., Any], world: Any
) -> None:
    """Orders near ten billion, the largest that are tested, above and below zero, are as exact as any."""
    chance = random.Random(sign)
    orders = make_orders(40, 60, 4)
    for order in orders:
        order.lines[0].price += Decimal("3333333000.9995")
        for line in order.lines:
            line.price *= sign
            for modifier in line.modifiers:
                modifier.price *= sign
    check(orders, chance, gather, world)


def check(orders: list[Any], chance: random.Random, gather: Callable[..., Any], world: Any) -> None:
    """State prices by forms drawn at random, and compare every form's fit with Decimal arithmetic."""
    con = gather([])
    names = {target: forms(con, target) for target in ("subtotal", "total")}
    for order in orders:
        order.currency = "CLF"  # four decimals: nothing is rounded
        order.subtotal = world.subtotal_by(chance.choice(names["subtotal"]), order)
        order.total = world.total_by(chance.choice(names["total"]), order)
    con = gather(orders)
    subtotals, totals = fitting(con, "subtotal"), fitting(con, "total")
    for order in orders:
        assert subtotals[order.order_id] == {
            name for name in names["subtotal"] if world.subtotal_by(name, order) == order.subtotal
        }
        expected = {name for name in names["total"] if world.total_by(name, order) == order.total}
        if order.total == 0:  # no sum of the other parts
            expected -= {"without_subtotal/unrounded", "subtotal_subtracted/unrounded"}
        assert totals[order.order_id] == expected


@pytest.mark.slow
def test_an_expression_is_its_rule(make_orders: Callable[..., Any], gather: Callable[..., Any], world: Any) -> None:
    """Each rule's SQL expression, run as it stands, gives the rule that its name says."""
    orders = make_orders(60, 40, 4)
    for order in orders:
        order.subtotal = Decimal(order.order_id) / 10_000
    con = gather(orders)
    for target, by, source in (
        ("subtotal", world.subtotal_by, "workings.order_line_sums join core.orders using (order_id) group by order_id"),
        ("total", world.total_by, "core.orders"),
    ):
        for rule, expression in con.execute(
            "select rule, expression from audit.formula_rules where rule_target = ? order by hash(rule) limit 200",
            [target],
        ).fetchall():
            given = dict(con.execute(f"select order_id, {expression} from {source}").fetchall())
            assert given == {order.order_id: by(rule, order) for order in orders}, rule
