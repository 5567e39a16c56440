"""In a world with a rule, that rule is found, and no other one is called supported."""

from __future__ import annotations

import dataclasses
import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb

USUAL = "unit_price/modifiers_per_unit_by_own/all_add/before_discount/unrounded"
OBSERVED = "observed/unrounded"


def rules_by(con: duckdb.DuckDBPyConnection, target: str, column: str) -> dict[str, list[str | None]]:
    """Return the rules that the orders of each value of a column have."""
    query = f"""
        select cast({column} as varchar), list(distinct {target}_rule order by {target}_rule)
        from audit.order_rules inner join mart.orders using (order_id) group by all
    """
    return dict(con.execute(query).fetchall())


def catalogue(gather: Callable[..., duckdb.DuckDBPyConnection], target: str) -> list[str]:
    """Return every rule of a target."""
    query = "select rule from audit.formula_rules where rule_target = ? order by form_no, rounding_no"
    return [rule for (rule,) in gather([]).execute(query, [target]).fetchall()]


def one_platform_each(
    rules: list[str], orders: Callable[[str], list[Any]], state: Callable[[list[Any], str], None]
) -> Any:
    """Let each rule be the true one on a platform of its name, on orders that are otherwise the same."""
    for number, rule in enumerate(rules):
        made = [
            dataclasses.replace(order, order_id=order.order_id + 1000 * number, platform=rule) for order in orders(rule)
        ]
        state(made, rule)
        yield from made


@pytest.mark.slow
@pytest.mark.parametrize("noise", [pytest.param(0.0, marks=pytest.mark.long), 0.02])
def test_every_subtotal_form_is_found(noise: float, make_orders: Any, state: Any, gather: Any) -> None:
    """Each of 78 forms, true for one platform, is what that platform's orders have, with noise up to 2%."""
    rules = [rule for rule in catalogue(gather, "subtotal") if rule.endswith("/unrounded")]
    assert len(rules) == 78
    same = make_orders(1, 300)
    orders = one_platform_each(
        rules, lambda _: same, lambda made, rule: state(made, rule, OBSERVED, noise, seed=made[0].order_id)
    )
    assert rules_by(gather(orders), "subtotal", "platform") == {rule: [rule] for rule in rules}


@pytest.mark.slow
def test_every_total_form_is_found(make_orders: Any, state: Any, gather: Any) -> None:
    """Each of 83 total forms, true for one platform, is what that platform's orders have, with 2% noise."""
    rules = [rule for rule in catalogue(gather, "total") if rule.endswith("/unrounded")]
    assert rules[83:] == ["zero/unrounded", "negated/unrounded"], "in force by settings alone"
    rules = rules[:83]
    same = make_orders(1, 300)
    for order in same:
        order.lines = order.lines[:1]
        order.delivery = order.delivery or Decimal(1)  # no total of zero, which is a population of its own
    orders = one_platform_each(
        rules, lambda _: same, lambda made, rule: state(made, USUAL, rule, 0.02, seed=made[0].order_id)
    )
    assert rules_by(gather(orders), "total", "platform") == {rule: [rule] for rule in rules}


ROUNDINGS = [
    f"{mode}_{digits}_per_{per}"
    for per in ("order", "line", "unit")
    for digits in range(4)
    for mode in ("half_up", "half_even", "down")
]


BY_UNIT = "unit_price/modifiers_per_unit_by_own/all_add/before_discount"
BY_LINE = "line_price/modifiers_per_line/all_add/after_discount"  # what is counted once a line is not rounded by unit
FORMS = [
    pytest.param(
        form,
        each,
        id=f"{name}-{each}",
        marks=[] if "half_up_2_" in each or "half_even_2_" in each else pytest.mark.long,
    )
    for name, form in (("unit", BY_UNIT), ("line", BY_LINE))
    for each in ROUNDINGS
    if name == "unit" or not each.endswith("unit")
]


@pytest.mark.slow
@pytest.mark.parametrize(("form", "rounding"), FORMS)
def test_every_rounding_is_found(form: str, rounding: str, make_orders: Any, state: Any, gather: Any) -> None:
    """Each rounding, true for all orders, is what they have, in a currency that is not known, with 2% noise."""
    digits = int(rounding.split("_per_", maxsplit=1)[0].rsplit("_", 1)[1])
    orders = make_orders(digits, 900, digits + 1)
    total = f"observed/{rounding}" if rounding.endswith("order") else OBSERVED
    state(orders, f"{form}/{rounding}", total, 0.02)
    con = gather(orders)
    query = "select rule from audit.formula_populations where rule_target = ?"
    assert con.execute(query, ["subtotal"]).fetchall() == [(f"{form}/{rounding}",)]
    if rounding.endswith("order"):
        assert con.execute(query, ["total"]).fetchall() == [(total,)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "differs"),
    [
        ("platform ios", lambda order: order.platform == "ios"),
        ("dispatch method store_delivery", lambda order: order.dispatch_method == "store_delivery"),
        ("store 2", lambda order: order.store_id == 2),
        ("from 2026-11-01", lambda order: order.business_date >= dt.date(2026, 11, 1)),
        ("with discount", lambda order: order.discount > 0),
    ],
)
def test_a_rule_of_some_orders_only_is_found_there(
    said: str, differs: Callable[[Any], bool], make_orders: Any, state: Any, gather: Any
) -> None:
    """Where one platform (dispatch method, store, month) prices otherwise, each side has its own rule in force."""
    other = "line_price/modifiers_per_line/all_add/before_discount/unrounded"
    orders = make_orders(3, 3000)
    there = [order for order in orders if differs(order)]
    state([order for order in orders if not differs(order)], USUAL, OBSERVED, 0.02)
    state(there, other, OBSERVED, 0.02)
    con = gather(orders)
    ordered = con.sql("select order_id, subtotal_rule, subtotal_basis from audit.order_rules order by all").fetchall()
    by_id = {order.order_id: order for order in orders}
    assert {(other if differs(by_id[row[0]]) else USUAL) == row[1] and row[2] == "supported" for row in ordered} == {
        True
    }
    rows = con.sql("select scope, rule from audit.formula_populations where rule_target = 'subtotal'").fetchall()
    assert sorted(rule for _, rule in rows) == sorted([other, USUAL])
    assert any(said in text for text, _ in rows)
    by_part = con.sql(
        "select distinct divisions.dimension, parts.part from workings.formula_divisions as divisions "
        "left join workings.formula_parts as parts using (rule_target, part_no) where part_no is not null"
    )
    assert by_part.fetchall() == ([("discount", "discount")] if said == "with discount" else [])


@pytest.mark.slow
def test_a_small_exception_does_not_hide_in_the_noise(make_orders: Any, state: Any, gather: Any) -> None:
    """One platform with 4% of the orders prices otherwise: the rule of all stands, and that platform has its own."""
    other = "line_price/no_modifiers/all_add/before_discount/unrounded"
    many, few = make_orders(4, 6000), make_orders(5, 250)
    state(many, USUAL, OBSERVED)
    state(few, other, OBSERVED)
    for order in few:
        order.order_id += 10_000
        order.platform = "kiosk"
    con = gather(many + few)
    rows = con.execute("select scope, rule from audit.formula_populations where rule_target = 'subtotal' order by all")
    assert rows.fetchall() == [("platform kiosk", other), ("platform other than kiosk", USUAL)]


@pytest.mark.slow
def test_no_rule_where_the_rule_of_all_fails_and_none_is_found(make_orders: Any, state: Any, gather: Any) -> None:
    """A platform whose prices follow no candidate has no rule in force, though all orders together have one."""
    many, few = make_orders(4, 6000), make_orders(5, 250)
    state(many, USUAL, OBSERVED)
    state(few, USUAL, OBSERVED, noise=1.0)
    for order in few:
        order.order_id += 10_000
        order.platform = "kiosk"
    con = gather(many + few)
    rows = con.execute("select scope, rule from audit.formula_populations where rule_target = 'total' order by all")
    assert rows.fetchall() == [("platform kiosk", None), ("platform other than kiosk", OBSERVED)]
