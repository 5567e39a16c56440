"""In a world with a rule, that rule is found, and no other one is called supported."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb

USUAL = "unit_price/modifiers_per_unit_by_own/all_add/before_discount/unrounded"
OBSERVED = "observed/unrounded"


def supported(con: duckdb.DuckDBPyConnection, part: str, scope: str) -> dict[str, list[str]]:
    """Return the supported rules of each value of a scope."""
    query = """
        select scope_value, list(rule) from audit.formula_evidence
        where part = ? and scope = ? and verdict = 'supported' group by scope_value
    """
    return dict(con.execute(query, [part, scope]).fetchall())


def catalogue(gather: Callable[..., duckdb.DuckDBPyConnection], part: str) -> list[str]:
    """Return every rule of a part."""
    rows = gather([]).execute("select rule from audit.formula_rules where part = ? order by all", [part]).fetchall()
    return [rule for (rule,) in rows]


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


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_every_form_is_found(noise: float, make_orders: Any, state: Any, gather: Any) -> None:
    """Each of 52 forms, true for one platform, is what that platform supports, with noise up to 5%."""
    rules = [rule for rule in catalogue(gather, "subtotal") if rule.endswith("/unrounded")]
    assert len(rules) == 52
    same = make_orders(1, 500)
    orders = one_platform_each(
        rules, lambda _: same, lambda made, rule: state(made, rule, OBSERVED, noise, seed=made[0].order_id)
    )
    assert supported(gather(orders), "subtotal", "platform") == {rule: [rule] for rule in rules}


@pytest.mark.parametrize(
    "form",
    [
        "unit_price/modifiers_per_unit_by_own/all_add/before_discount",
        "line_price/modifiers_per_line/all_add/after_discount",
    ],
)
def test_every_rounding_is_found(form: str, make_orders: Any, state: Any, gather: Any) -> None:
    """Each of 17 roundings, true for one platform whose prices have one decimal more, is found, at 5% noise."""
    rules = [rule for rule in catalogue(gather, "subtotal") if rule.startswith(form)]
    assert len(rules) == 17
    same = {decimals: make_orders(decimals, 900, decimals) for decimals in range(1, 5)}
    orders = one_platform_each(
        rules,
        lambda rule: same[_decimals(rule)],
        lambda made, rule: state(made, rule, OBSERVED, 0.05, seed=made[0].order_id),
    )
    assert supported(gather(orders), "subtotal", "platform") == {rule: [rule] for rule in rules}


def test_every_total_rule_is_found(make_orders: Any, state: Any, gather: Any) -> None:
    """Each of 117 total rules, true for one platform, is what that platform supports, with 5% noise."""
    rules = catalogue(gather, "total")
    assert len(rules) == 117
    same = {decimals: make_orders(decimals, 500, decimals) for decimals in range(1, 5)}
    for orders in same.values():
        for order in orders:
            order.lines = order.lines[:1]
    orders = one_platform_each(
        rules,
        lambda rule: same[_decimals(rule)],
        lambda made, rule: state(made, USUAL, rule, 0.05, seed=made[0].order_id),
    )
    assert supported(gather(orders), "total", "platform") == {rule: [rule] for rule in rules}


@pytest.mark.parametrize(
    ("scope", "differs"),
    [
        ("platform", lambda order: order.platform == "ios"),
        ("dispatch_method", lambda order: order.dispatch_method == "store_delivery"),
        ("store", lambda order: order.store_id == 2),
        ("month", lambda order: order.business_date >= dt.date(2026, 11, 1)),
    ],
)
def test_a_rule_of_some_orders_only_is_found_there(
    scope: str, differs: Callable[[Any], bool], make_orders: Any, state: Any, gather: Any
) -> None:
    """Where one platform (dispatch method, store, month) prices otherwise, each side has its own rule in force."""
    other = "line_price/modifiers_per_line/all_add/before_discount/unrounded"
    orders = make_orders(3, 3000)
    there = [order for order in orders if differs(order)]
    state([order for order in orders if not differs(order)], USUAL, OBSERVED, 0.02)
    state(there, other, OBSERVED, 0.02)
    con = gather(orders)
    assert supported(con, "subtotal", "all") == {}
    (there_value,) = {_value(scope, order) for order in there}
    by_value = {_value(scope, order): [other if differs(order) else USUAL] for order in orders}
    assert supported(con, "subtotal", scope) == by_value
    query = "select scope, scope_value, rule from audit.formula_rules_in_force where part = 'subtotal'"
    in_force = {(row[0], row[1]): row[2] for row in con.execute(query).fetchall()}
    assert in_force == {(scope, value): rule for value, (rule,) in by_value.items()}
    assert in_force[(scope, there_value)] == other


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
    rows = con.execute(
        "select scope, scope_value, rule from audit.formula_rules_in_force where part = 'subtotal' order by all"
    ).fetchall()
    assert rows == [("all", "all", USUAL), ("platform", "kiosk", other)]


def test_no_rule_where_the_rule_of_all_fails_and_none_is_found(make_orders: Any, state: Any, gather: Any) -> None:
    """A platform whose prices follow no candidate has no rule in force, though all orders together have one."""
    many, few = make_orders(4, 6000), make_orders(5, 250)
    state(many, USUAL, OBSERVED)
    state(few, USUAL, OBSERVED, noise=1.0)
    for order in few:
        order.order_id += 10_000
        order.platform = "kiosk"
    rows = (
        gather(many + few)
        .execute(
            "select scope_value, rule, form_no from audit.formula_rules_in_force where part = 'total' order by all"
        )
        .fetchall()
    )
    assert [row[:2] for row in rows] == [("all", OBSERVED), ("kiosk", None)]


def _decimals(rule: str) -> int:
    """Return one decimal more than a rule keeps."""
    rounding = rule.rsplit("/", maxsplit=1)[-1]
    return 4 if rounding == "unrounded" else int(rounding.split("_")[2]) + 1


def _value(scope: str, order: Any) -> str:
    if scope == "month":
        return f"{order.business_date:%Y-%m}"
    return str({"platform": order.platform, "dispatch_method": order.dispatch_method, "store": order.store_id}[scope])
