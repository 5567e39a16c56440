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


def leader(con: duckdb.DuckDBPyConnection, part: str) -> tuple[str, str, str, list[str]]:
    """Return rule, verdict, reason and would_decide of the leader of all orders."""
    query = """
        select rule, verdict, reason, would_decide from audit.formula_evidence
        where scope = 'all' and part = ? and reason is not null
    """
    (row,) = con.execute(query, [part]).fetchall()
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


@pytest.mark.parametrize(
    ("spoil", "would_decide"),
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
    spoil: Callable[[Any], None], would_decide: list[str], make_orders: Any, state: Any, gather: Any
) -> None:
    """Where no order holds what rules disagree about, none is named, and the lacking kind of order is."""
    orders = make_orders(11, 1500)
    for order in orders:
        spoil(order)
    state(orders, USUAL, OBSERVED)
    con = gather(orders)
    _, verdict, reason, lacking = leader(con, "subtotal")
    assert (verdict, lacking) == ("undecided", would_decide)
    assert reason.startswith("too few orders tell it from")
    assert con.execute("select count(*) from audit.formula_rules_in_force where part = 'subtotal'").fetchone() == (0,)
    query = "select count(*) from audit.formula_evidence where part = 'subtotal' and verdict = 'supported'"
    assert con.execute(query).fetchone() == (0,)


IN_FORCE = "select scope, scope_value, rule from audit.formula_rules_in_force where part = 'total'"


def test_a_refuted_formula_is_not_assumed(make_orders: Any, state: Any, gather: Any) -> None:
    """Where orders refute the observed total, and cannot decide which other it is, there is a row without a rule."""
    orders = make_orders(13, 600)
    for order in orders:
        order.delivery = Decimal(0)
    state(orders, USUAL, "without_tip/unrounded", noise=0.03)
    con = gather(orders)
    rule, verdict, _, lacking = leader(con, "total")
    assert (rule, verdict, lacking) == ("without_tip/unrounded", "undecided", ["an order with a delivery charge"])
    assert con.execute(IN_FORCE).fetchall() == [("all", "all", None)]
    assert gather(orders, formula_total_rule=OBSERVED).execute(IN_FORCE).fetchall() == [("all", "all", OBSERVED)]


def test_few_telling_orders_are_not_enough(make_orders: Any, state: Any, gather: Any) -> None:
    """19 orders that tell leave it undecided, one more decides it."""
    orders = make_orders(12, 1500)
    telling = [order for order in orders if order.discount]
    for order in telling[19:]:
        order.discount = Decimal(0)
    state(orders, USUAL, OBSERVED)
    assert leader(gather(orders), "subtotal")[1:] == (
        "undecided",
        "too few orders tell it from its closest rival: 19 where 20 are asked for",
        ["an order with a discount"],
    )
    telling[19].discount = Decimal(1)
    state(orders, USUAL, OBSERVED)
    assert leader(gather(orders), "subtotal")[:2] == (USUAL, "supported")
    assert leader(gather(orders, formula_min_distinguishing_orders=21), "subtotal")[1] == "undecided"


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
    rule, verdict, _, would_decide = leader(gather(orders), "total")
    assert (rule, verdict, would_decide) == (OBSERVED, "undecided", [said])


def test_only_add_asks_no_question(make_orders: Any, state: Any, gather: Any) -> None:
    """Where every action is add, other actions are no open question: the rule is supported, its variants untold."""
    orders = make_orders(14, 1500)
    for order in orders:
        for modifier in modifiers(order):
            modifier.action = "add"
    state(orders, USUAL, OBSERVED)
    con = gather(orders)
    assert leader(con, "subtotal")[:2] == (USUAL, "supported")
    variants = [USUAL.replace("all_add", each) for each in ("only_add", "others_subtract")]
    query = "select verdict, telling_orders from audit.formula_evidence where scope = 'all' and rule in (?, ?)"
    assert con.execute(query, variants).fetchall() == [("untold", 0)] * 2


def test_a_few_other_actions_open_a_question(make_orders: Any, state: Any, gather: Any) -> None:
    """Five orders with another action leave the rule in force, and say that these orders' lines are in question."""
    orders = make_orders(15, 1500)
    other = [order for order in orders if any(m.action != "add" and m.price for m in modifiers(order))]
    for order in other[5:]:
        for modifier in modifiers(order):
            modifier.action = "add"
    state(orders, USUAL, OBSERVED)
    con = gather(orders)
    assert leader(con, "subtotal")[1::2] == (
        "supported",
        ["an order with a priced modifier of another action than add"],
    )
    query = "select is_action_open from audit.formula_rules_in_force where part = 'subtotal'"
    assert con.execute(query).fetchall() == [(True,)]


def test_prices_by_no_rule(make_orders: Any, state: Any, gather: Any) -> None:
    """Where prices follow no candidate none is named, whatever fits best."""
    orders = make_orders(16, 800)
    state(orders, USUAL, OBSERVED, noise=0.15)
    rule, verdict, reason, _ = leader(gather(orders), "subtotal")
    assert (rule, verdict) == (USUAL, "undecided")
    assert reason.startswith("no candidate holds in this scope: the best one fits ")
    assert leader(gather(orders, formula_max_violation_rate=0.2), "subtotal")[1] == "supported"


def test_few_orders(make_orders: Any, state: Any, gather: Any) -> None:
    """Ten orders name no rule, however well one fits them."""
    orders = make_orders(17, 10)
    state(orders, USUAL, OBSERVED)
    assert leader(gather(orders), "total")[1:3] == ("undecided", "10 orders state what it takes, 20 are asked for")


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
    assert con.sql("select order_id from audit.subtotal_fits").fetchall() == [(10,)]
    assert con.sql("select order_id from audit.total_fits where order_id in (3, 4, 9)").fetchall() == []
    assert con.sql("select count(*) from audit.total_fits").fetchone() == (7,)


def test_a_rule_fixed_by_hand_is_measured_all_the_same(make_orders: Any, state: Any, gather: Any) -> None:
    """A rule that [formula] fixes is in force everywhere, and the evidence says that it fails."""
    orders = make_orders(19, 800)
    state(orders, USUAL, OBSERVED)
    fixed = "line_price/no_modifiers/all_add/before_discount/half_even_1_per_line"
    con = gather(orders, formula_subtotal_rule=fixed)
    assert con.sql(
        "select scope, rule, source from audit.formula_rules_in_force where part = 'subtotal'"
    ).fetchall() == [("all", fixed, "setting")]
    query = "select scope, verdict from audit.formula_evidence where is_fixed and scope in ('all', 'platform')"
    assert set(con.sql(query).fetchall()) == {("all", "refuted"), ("platform", "refuted")}


def test_no_supported_rule_in_worlds_without_one(make_orders: Any, gather: Any) -> None:
    """In 30 stores whose prices are drawn at random, nothing is supported anywhere."""
    chance = random.Random(20)
    orders = make_orders(20, 3000)
    for order in orders:
        order.store_id = chance.randrange(30)
        order.subtotal = Decimal(chance.randrange(500, 4000)) / 100
        order.total = Decimal(chance.randrange(500, 4000)) / 100
    con = gather(orders)
    assert con.sql("select * from audit.formula_evidence where verdict = 'supported'").fetchall() == []
