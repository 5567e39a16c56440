"""Orders priced by a known rule come out balanced under it, to the cent, whichever of all rules it is."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest

from pipelines.warehouse import catalogue

RECONCILED = (
    "mart.order_lines",
    "workings.order_formula_amounts",
    "workings.order_residual_causes",
    "mart.order_reconciliation",
)
NO_ISSUES = "create table if not exists workings.order_field_issues (order_id bigint, missing_fields varchar[])"


def reconcile(con: Any, rules: list[tuple[str, str]]) -> None:
    """Put each pair of rules in force on a platform named after its place, and make the tables of reconciliation."""
    con.execute(
        "create or replace table pairs as select cast(unnest(range(?)) as varchar) as platform, "
        "unnest(?::varchar[]) as line_rule, unnest(?::varchar[]) as total_rule",
        [len(rules), [pair[0] for pair in rules], [pair[1] for pair in rules]],
    )
    con.execute(
        """
        create or replace table audit.order_rules as
        select orders.order_id, pairs.line_rule as subtotal_rule, pairs.line_rule, pairs.total_rule,
            cast([] as bigint[]) as line_open_parts,
            null::bigint as subtotal_population_no, null::bigint as total_population_no
        from mart.orders as orders inner join pairs on orders.platform = pairs.platform
        """
    )
    con.execute(NO_ISSUES)
    for name in RECONCILED:
        con.execute(f"create table {name} as {catalogue.table(name).sql}")


def priced(make_orders: Any, world: Any, rules: list[tuple[str, str]], seed: int) -> list[Any]:
    """Make two orders for each pair of rules, with prices near the largest, up to four decimals, and their prices."""
    chance = random.Random(seed)
    orders = make_orders(seed, 2 * len(rules), 4)
    for n, order in enumerate(orders):
        order.platform = str(n // 2)
        order.lines[0].price += chance.choice((0, 1, -1)) * Decimal("9999999999999.9995")
        subtotal, total = rules[n // 2]
        order.subtotal = world.subtotal_by(subtotal, order)
        order.total = world.total_by(total, order)
    return orders


@pytest.mark.slow
@pytest.mark.parametrize("each", [7, pytest.param(1, marks=pytest.mark.long)])
def test_every_rule_balances_what_it_priced(each: int, make_orders: Any, gather: Any, world: Any) -> None:
    """Of 2,202 subtotal rules and 1,105 total rules: formula, lines and rest are those of Decimal arithmetic."""
    names = (
        gather([])
        .execute("select rule_target, list(rule order by rule) from audit.formula_rules group by all")
        .fetchall()
    )
    by_part = dict(names)
    totals = by_part["total"]
    rules = [(subtotal, totals[n % len(totals)]) for n, subtotal in enumerate(by_part["subtotal"])]
    assert (len(rules), len(totals)) == (2202, 1105)
    rules = rules[::each]
    orders = priced(make_orders, world, rules, 70)
    con = gather(orders)
    reconcile(con, rules)
    query = "select verdict, count(*) from mart.order_reconciliation group by verdict"
    assert con.execute(query).fetchall() == [("balanced", len(orders))]
    rest = con.execute("select order_id, line_amount + unallocated_amount from mart.order_reconciliation").fetchall()
    assert dict(rest) == {order.order_id: order.subtotal for order in orders}


def test_a_unit_too_much_is_a_residual(make_orders: Any, gather: Any, world: Any) -> None:
    """A ten-thousandth more in subtotal or total is exactly the residual, whatever the size of the amounts."""
    rules = [("unit_price/modifiers_per_unit_by_own/all_add/before_discount/unrounded", "observed/unrounded")] * 50
    orders = priced(make_orders, world, rules, 71)
    unit = Decimal("0.0001")
    for order in orders:
        order.platform = "0"
        if order.order_id % 2:
            order.subtotal += unit  # and the total with it: the parts still make the total
        order.total += unit
    con = gather(orders)
    reconcile(con, rules[:1])
    found = con.execute("select order_id, verdict, subtotal_residual, total_residual from mart.order_reconciliation")
    assert {row[0]: row[1:] for row in found.fetchall()} == {
        order.order_id: ("subtotal_break", unit, 0) if order.order_id % 2 else ("total_break", 0, unit)
        for order in orders
    }
