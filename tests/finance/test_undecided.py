"""A world that cannot decide is called undecided, and what kind of order would decide is said."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import duckdb

USUAL = "unit_price/modifiers_per_unit_by_own/all_add/before_discount/unrounded"
OBSERVED = "observed/unrounded"


def found(con: duckdb.DuckDBPyConnection, target: str) -> tuple[str | None, str, str, list[str]]:
    """Return rule, verdict, sentence and deciding cases of the one population of all orders."""
    query = "select rule, verdict, sentence, deciding_cases from audit.formula_populations where rule_target = ?"
    (row,) = con.execute(query, [target]).fetchall()
    return row


def modifiers(order: Any) -> Iterator[Any]:
    """Give every modifier of an order."""
    for line in order.lines:
        yield from line.modifiers


def all_quantities_one(order: Any) -> None:
    """Order one of everything."""
    for line in order.lines:
        line.quantity = 1


def no_priced_modifiers(order: Any) -> None:
    """Give modifiers away."""
    for modifier in modifiers(order):
        modifier.price = Decimal(0)


def modifiers_on_single_units(order: Any) -> None:
    """Choose modifiers for lines of quantity 1 alone."""
    for line in order.lines:
        if line.quantity != 1:
            line.modifiers = []


def every_modifier_once(order: Any) -> None:
    """Choose each modifier once."""
    for modifier in modifiers(order):
        modifier.quantity = 1


def no_discount(order: Any) -> None:
    """Grant no discount."""
    order.discount = Decimal(0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "cases"),
    [
        (
            all_quantities_one,
            [
                "an order with a priced line of quantity other than 1",
                "an order with quantity above 1 and a priced modifier",
            ],
        ),
        (no_priced_modifiers, ["an order with a priced modifier"]),
        (modifiers_on_single_units, ["an order with quantity above 1 and a priced modifier"]),
        (every_modifier_once, ["an order with a priced modifier of quantity above 1"]),
        (no_discount, ["an order with a discount"]),
    ],
)
def test_orders_that_cannot_tell(
    spoil: Callable[[Any], None], cases: list[str], make_orders: Any, state: Any, gather: Any
) -> None:
    """Where no order holds what rules disagree about, none is named, and the lacking kind of order is."""
    orders = make_orders(11, 1500)
    for order in orders:
        spoil(order)
    state(orders, USUAL, OBSERVED)
    _, verdict, sentence, lacking = found(gather(orders), "subtotal")
    assert (verdict, lacking) == ("agreed", cases)
    assert "candidates remain and all agree but for: " in sentence


@pytest.mark.slow
def test_a_refuted_formula_is_not_assumed(make_orders: Any, state: Any, gather: Any) -> None:
    """Where orders refute the observed total, and cannot decide all of another, what they decide is in force."""
    orders = make_orders(13, 900)
    for order in orders:
        order.delivery = Decimal(0)
    state(orders, USUAL, "without_tip/unrounded", noise=0.02)
    con = gather(orders)
    rule, verdict, _, cases = found(con, "total")
    assert (rule, verdict, cases) == ("without_tip/unrounded", "agreed", ["an order with a delivery charge"])
    assert con.sql("select distinct total_rule, total_basis from audit.order_rules").fetchall() == [
        ("without_tip/unrounded", "agreed")
    ]
    con = gather(orders, rules=[{"rule_target": "total", "rule": OBSERVED}])
    # Most follow the configured rule, and those with a tip are all off by it: whether they are right is unknown.
    assert con.sql(
        "select distinct total_rule, total_basis, tip <> 0 as is_tipped from audit.order_rules"
        " join mart.orders using (order_id) semi join workings.orders_off_alike using (order_id)"
    ).fetchall() == [(None, None, True)]
    assert con.sql(
        "select distinct total_rule, total_basis from audit.order_rules"
        " anti join workings.orders_off_alike using (order_id)"
    ).fetchall() == [(OBSERVED, "configured")]


@pytest.mark.slow
def test_few_distinguishing_orders_are_not_enough(make_orders: Any, state: Any, gather: Any) -> None:
    """19 orders that distinguish leave it open, one more decides it."""
    orders = make_orders(12, 1500)
    telling = [order for order in orders if order.discount]
    for order in telling[19:]:
        order.discount = Decimal(0)
    state(orders, USUAL, OBSERVED)
    rule, verdict, _, cases = found(gather(orders), "subtotal")
    assert (rule, verdict) == (USUAL, "agreed")
    assert cases == ["an order with a discount (19 of 19 fit, 1 more would decide)"]
    telling[19].discount = Decimal(1)
    state(orders, USUAL, OBSERVED)
    assert found(gather(orders), "subtotal")[:2] == (USUAL, "supported")
    assert found(gather(orders, formula_min_distinguishing_orders=21), "subtotal")[1] == "agreed"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "lacking", "said"),
    [
        ("tip", "tip", "an order with a tip"),
        ("delivery", "delivery", "an order with a delivery charge"),
        ("loyalty", "loyalty", "an order with a loyalty discount"),
    ],
)
def test_a_part_that_is_always_zero(
    part: str, lacking: str, said: str, make_orders: Any, state: Any, gather: Any
) -> None:
    """Where no order has a tip, whether tips count is not known."""
    orders = make_orders(13, 600)
    for order in orders:
        setattr(order, lacking, Decimal(0))
    state(orders, USUAL, OBSERVED)
    rule, verdict, _, cases = found(gather(orders), "total")
    assert (rule, verdict, cases) == (OBSERVED, "agreed", [said])


@pytest.mark.slow
def test_only_add_asks_no_question(make_orders: Any, state: Any, gather: Any) -> None:
    """Where every action is add, other actions are no open question: the rule is supported."""
    orders = make_orders(14, 1500)
    for order in orders:
        for modifier in modifiers(order):
            modifier.action = "add"
    state(orders, USUAL, OBSERVED)
    assert found(gather(orders), "subtotal")[:2] == (USUAL, "supported")


@pytest.mark.slow
def test_a_few_other_actions_open_a_question(make_orders: Any, state: Any, gather: Any) -> None:
    """Five orders with another action leave the rule supported; these orders' other lines alone have amounts."""
    orders = make_orders(15, 1500)
    other = [order for order in orders if any(m.action != "add" and m.price for m in modifiers(order))]
    for order in other[5:]:
        for modifier in modifiers(order):
            modifier.action = "add"
    state(orders, USUAL, OBSERVED)
    con = gather(orders)
    _, verdict, _, cases = found(con, "subtotal")
    assert verdict == "supported"
    assert cases == ["an order with a priced modifier of another action than add (5 of 5 fit, 15 more would decide)"]
    query = (
        "select order_id, line_rule, line_open_parts from audit.order_rules where subtotal_rule is null order by all"
    )
    assert con.sql(query).fetchall() == [(order.order_id, USUAL, [5]) for order in other[:5]]


@pytest.mark.slow
def test_prices_by_no_rule(make_orders: Any, state: Any, gather: Any) -> None:
    """Where prices follow no candidate none is named, whatever fits best."""
    orders = make_orders(16, 800)
    state(orders, USUAL, OBSERVED, noise=0.15)
    rule, verdict, sentence, _ = found(gather(orders), "subtotal")
    assert (rule, verdict) == (None, "none")
    assert sentence.endswith("no candidate holds")
    assert found(gather(orders, formula_max_violation_rate=0.2), "subtotal")[1] == "supported"


@pytest.mark.slow
def test_few_orders(make_orders: Any, state: Any, gather: Any) -> None:
    """Ten orders support no rule, however well one fits them."""
    orders = make_orders(17, 10)
    state(orders, USUAL, OBSERVED)
    _, verdict, sentence, _ = found(gather(orders), "total")
    assert verdict == "compatible"
    assert "compatible, 10 of 10 fit; 10 more orders needed" in sentence


def test_orders_that_lack_a_price_are_not_tested(make_orders: Any, state: Any, gather: Any) -> None:
    """Null prices, quantities or parts, no lines, ten billion and more, or ten thousand of a product test no rule."""
    orders = make_orders(18, 10)
    state(orders, USUAL, OBSERVED)
    orders[0].lines[0].price = None
    orders[1].lines[0].quantity = None
    orders[2].subtotal = None
    orders[3].discount = None
    orders[4].lines = []
    orders[5].lines[0].quantity = 10_000
    orders[6].lines[0].modifiers = [type(next(m for o in orders for m in modifiers(o)))(None)]
    orders[7].lines[0].price = Decimal(10**10)
    orders[8].subtotal = orders[8].total = Decimal(10**14 - 1)
    con = gather(orders)
    assert con.sql("select order_id from workings.subtotal_patterns").fetchall() == [(10,)]
    assert con.sql("select order_id from workings.total_patterns where order_id in (3, 4, 9)").fetchall() == []
    assert con.sql("select count(*) from workings.total_patterns").fetchall() == [(7,)]


@pytest.mark.slow
def test_a_configured_rule_is_measured_all_the_same(make_orders: Any, state: Any, gather: Any) -> None:
    """A rule of the settings is in force everywhere, and the evidence says that it fails."""
    orders = make_orders(19, 800)
    state(orders, USUAL, OBSERVED)
    configured = "line_price/no_modifiers/all_add/before_discount/half_even_1_per_line"
    con = gather(orders, rules=[{"rule_target": "subtotal", "rule": configured}])
    assert con.sql("select distinct subtotal_rule, subtotal_basis from audit.order_rules").fetchall() == [
        (configured, "configured")
    ]
    query = "select verdict, sentence from audit.formula_populations where rule_setting_no = 1"
    ((verdict, sentence),) = con.sql(query).fetchall()
    assert verdict == "none"
    assert "configured, refuted" in sentence


@pytest.mark.promise(10)
def test_no_supported_rule_in_worlds_without_one(make_orders: Any, gather: Any) -> None:
    """In 30 stores whose prices are drawn at random, nothing is supported anywhere."""
    chance = random.Random(20)
    orders = make_orders(20, 3000)
    for order in orders:
        order.store_id = chance.randrange(30)
        order.subtotal = Decimal(chance.randrange(500, 4000)) / 100
        order.total = Decimal(chance.randrange(500, 4000)) / 100
    con = gather(orders)
    assert (
        con.sql(
            "select * from audit.formula_populations where verdict in ('supported', 'agreed', 'compatible')"
        ).fetchall()
        == []
    )
