"""Ten worlds whose rules are known, each with the verdict and the sentence that it is to get."""

from __future__ import annotations

import dataclasses
import datetime as dt
import random
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import duckdb

USUAL = "unit_price/modifiers_per_unit_by_own/all_add/before_discount/unrounded"
OBSERVED = "observed/unrounded"


def populations(con: duckdb.DuckDBPyConnection, target: str) -> list[tuple[str, str, str | None]]:
    """Return scope, verdict and rule of each population."""
    query = "select scope, verdict, rule from audit.formula_populations where rule_target = ? order by population_no"
    return con.execute(query, [target]).fetchall()


def sentences(con: duckdb.DuckDBPyConnection, target: str) -> list[str]:
    """Return the sentence of each population."""
    query = "select sentence from audit.formula_populations where rule_target = ? order by population_no"
    return [row[0] for row in con.execute(query, [target]).fetchall()]


def rare_loyalty(orders: list[Any]) -> None:
    """Let 52 orders hold a loyalty discount."""
    for number, order in enumerate(orders):
        order.loyalty = Decimal("1.5") if number < 52 else Decimal(0)


@pytest.mark.slow
def test_a_rule_must_hold_among_orders_that_hold_a_rare_part(make_orders: Any, state: Any, gather: Any) -> None:
    """Tip and loyalty are not in the total, loyalty is on 3.5% of orders: the true rule is named, no order is off."""
    orders = make_orders(101, 1500)
    rare_loyalty(orders)
    state(orders, USUAL, "without_tip+without_loyalty/unrounded")
    con = gather(orders)
    assert populations(con, "total") == [("all orders", "supported", "without_tip+without_loyalty/unrounded")]
    (text,) = sentences(con, "total")
    assert text == (
        "total = subtotal + delivery - discount: supported, 1,500 of 1,500 fit; "
        "52 orders distinguish it from its nearest rival, 52 of them fit"
    )
    fits = """
        select evidence.order_count, evidence.fit_count from workings.formula_evidence as evidence
        where evidence.form = 'without_tip' and evidence.part = 'loyalty'
    """
    assert con.sql(fits).fetchall() == [(52, 0)]
    behind = """
        select count(*) from workings.formula_evidence as evidence
        inner join audit.order_rules as orders
            on evidence.population_no = orders.total_population_no
            and orders.total_holds[evidence.part_no] = '1' and orders.total_fits[evidence.form_no] = '0'
        where evidence.form = 'without_tip' and evidence.part = 'loyalty'
    """
    assert con.sql(behind).fetchall() == [(52,)]


@pytest.mark.slow
def test_a_change_of_another_month_leaves_october(make_orders: Any, state: Any, gather: Any) -> None:
    """Half of 800 November orders of one platform are priced another way: October keeps its rule."""
    orders = make_orders(102, 1400)
    chance = random.Random(102)
    other = []
    for number, order in enumerate(orders):
        order.business_date = dt.date(2026, 10, 1) + dt.timedelta(days=number % 31)
        if number >= 600:
            order.platform = "web"
            order.business_date = dt.date(2026, 11, 1) + dt.timedelta(days=number % 30)
            if chance.random() < 0.5:
                other.append(order)
    state(orders, USUAL, OBSERVED)
    state(other, "line_price/modifiers_per_line/all_add/before_discount/unrounded", OBSERVED)
    con = gather(orders)
    found = populations(con, "subtotal")
    assert ("until 2026-10-31", "supported", USUAL) in found
    assert [row for row in found if row[0].startswith("2026-11-01") and row[1:] == ("none", None)]
    valued = "select count(*) from audit.order_rules join mart.orders using (order_id) where subtotal_rule is not null"
    assert con.sql(f"{valued} and business_date < date '2026-11-01'").fetchall() == [(600,)]
    differing = f"{valued} and business_date >= date '2026-11-01' and subtotal_holds[1] = '1'"
    assert con.sql(differing).fetchall()[0][0] < 20


@pytest.mark.slow
def test_orders_are_valued_where_candidates_agree(make_orders: Any, state: Any, gather: Any) -> None:
    """Without modifiers and discounts price by quantity fits all: many candidates remain, and all agree."""
    orders = make_orders(103, 2000)
    for order in orders:
        order.discount = order.tip = order.loyalty = Decimal(0)
        for line in order.lines:
            line.modifiers = []
    state(orders, "unit_price/no_modifiers/all_add/before_discount/unrounded", OBSERVED)
    con = gather(orders)
    ((scope, verdict, rule),) = populations(con, "subtotal")
    assert (scope, verdict) == ("all orders", "agreed")
    assert rule == "unit_price/no_modifiers/all_add/before_discount/unrounded"
    (text,) = sentences(con, "subtotal")
    assert "2,000 of 2,000 fit; 39 candidates remain and all agree but for: modifiers" in text
    assert con.sql("select distinct subtotal_basis, total_basis from audit.order_rules").fetchall() == [
        ("agreed", "agreed")
    ]


@pytest.mark.slow
def test_cancelled_orders_that_state_zero_are_a_population(make_orders: Any, state: Any, gather: Any) -> None:
    """10% of orders are cancelled and state total 0: the others have their rule, and these say what they share."""
    orders = make_orders(104, 1500)
    state(orders, USUAL, OBSERVED)
    for order in orders[::10]:
        order.status, order.sale_class, order.total = "cancelled", "excluded", Decimal(0)
    con = gather(orders)
    assert populations(con, "total") == [
        ("status delivered", "supported", OBSERVED),
        ("status cancelled", "none", None),
    ]
    assert sentences(con, "total")[1].endswith("no candidate holds; 150 of 150 that differ state 0")


@pytest.mark.slow
def test_a_refuted_total_is_not_assumed(make_orders: Any, state: Any, gather: Any) -> None:
    """None of 50 orders fits any candidate: no rule, and the residuals' pattern."""
    orders = make_orders(105, 50)
    state(orders, USUAL, OBSERVED)
    for order in orders:
        order.total += Decimal("100.01") + order.order_id
    con = gather(orders)
    ((_, verdict, rule),) = populations(con, "total")
    assert (verdict, rule) == ("none", None)
    assert "refuted, 0 of 50 fit; no candidate holds" in sentences(con, "total")[0]
    assert con.sql("select distinct total_rule, total_basis from audit.order_rules").fetchall() == [(None, None)]


@pytest.mark.slow
def test_negative_discounts_are_named(make_orders: Any, state: Any, gather: Any) -> None:
    """Discounts are sent as negative numbers: they are added, in the total and in the subtotal."""
    orders = make_orders(106, 1500)
    for order in orders:
        order.discount = -order.discount
    subtotal = "unit_price/modifiers_per_unit_by_own/all_add/discount_added/unrounded"
    state(orders, subtotal, "discount_added/unrounded")
    con = gather(orders)
    assert populations(con, "total") == [("all orders", "supported", "discount_added/unrounded")]
    assert populations(con, "subtotal") == [("all orders", "supported", subtotal)]


def too_high(order: Any) -> Decimal:
    """A constant."""
    return Decimal("0.99")


def taxed(order: Any) -> Decimal:
    """A share of subtotal less discount."""
    return Decimal("0.08") * (order.subtotal - order.discount)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("added", "said", "component"),
    [
        (too_high, "1,500 of 1,500 that differ are off by 0.99", {"name": "bag", "amount": "0.99"}),
        (
            taxed,
            "1,500 of 1,500 that differ are off by 8% of (subtotal - discount)",
            {"name": "tax", "share": "0.08", "base": "subtotal_less_discount"},
        ),
    ],
)
def test_residual_patterns_are_named_and_become_components(
    added: Any, said: str, component: dict[str, Any], make_orders: Any, state: Any, gather: Any
) -> None:
    """Every total is off in the same way: that is said, and as a component of the settings it explains them."""
    orders = make_orders(107, 1500)
    state(orders, USUAL, OBSERVED)
    for order in orders:
        order.currency = "EUR"
        order.total = (order.total + added(order)).quantize(Decimal("0.01"))
    assert sentences(gather(orders), "total")[0].endswith(said)
    con = gather(orders, components=[component])
    ((scope, verdict, rule),) = populations(con, "total")
    assert (scope, verdict) == ("all orders", "supported")
    assert rule is not None
    assert rule.startswith("observed/")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fitting", "verdict", "said"),
    [
        (
            88,
            "compatible",
            "compatible, 88 of 100 fit (88.0%, at least 80.2%); settings allow 0.05 to differ: no number",
        ),
        (100, "supported", "supported, 100 of 100 fit"),
        (60, "compatible", "compatible, 60 of 60 fit (100.0%, at least 94.0%); settings allow 0.05 to differ: 13 more"),
    ],
)
def test_the_stated_share_is_a_lower_bound(
    fitting: int, verdict: str, said: str, make_orders: Any, state: Any, gather: Any
) -> None:
    """88 of 100 do not support a rule that 5% may break, and 60 of 60 are too few: how many more is said."""
    orders = make_orders(108, 100 if fitting != 60 else 60)
    state(orders, USUAL, OBSERVED)
    for order in orders[fitting:]:
        order.total += Decimal("3.33")
    con = gather(orders)
    ((_, found, _),) = populations(con, "total")
    assert found == verdict
    assert said in sentences(con, "total")[0]


@pytest.mark.slow
def test_rules_of_the_settings_hold_by_scope_and_date(make_orders: Any, state: Any, gather: Any) -> None:
    """A configured rule is in force for its orders and days alone, is measured, and refuted where it fails."""
    orders = make_orders(109, 1500)
    state(orders, USUAL, OBSERVED)
    november = [order for order in orders if order.business_date >= dt.date(2026, 11, 1) and order.platform == "web"]
    state(november, USUAL, "without_tip/unrounded")
    rule = {"rule_target": "total", "rule": "without_tip/unrounded", "platform": "web"}
    con = gather(orders, rules=[rule | {"first_day": dt.date(2026, 11, 1)}])
    bases = con.sql(
        "select total_rule, total_basis, count(*) from audit.order_rules group by all order by all"
    ).fetchall()
    assert bases == [
        (OBSERVED, "supported", 1500 - len(november)),
        ("without_tip/unrounded", "configured", len(november)),
    ]
    con = gather(orders, rules=[rule])
    ((scope, verdict, _),) = [row for row in populations(con, "total") if row[0].startswith("orders of")]
    assert (scope, verdict) == ("orders of [[formula.rule]] no. 1", "none")
    assert "configured, refuted" in sentences(con, "total")[0]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["down", "half_up", "half_even"])
@pytest.mark.parametrize("per", ["unit", pytest.param("line", marks=pytest.mark.long), "order"])
def test_roundings_are_found_at_the_digits_of_the_currency(
    mode: str, per: str, make_orders: Any, state: Any, gather: Any
) -> None:
    """Rounding down, half up and half even, per unit, line and order, in a currency of no decimals."""
    orders = make_orders(110, 1500, 1)
    for order in orders:
        order.currency = "JPY"
        order.discount = Decimal(0)
    rule = f"unit_price/modifiers_per_unit_by_own/all_add/before_discount/{mode}_0_per_{per}"
    state(orders, rule, f"observed/{mode}_0_per_order")
    con = gather(orders)
    ((_, verdict, found),) = populations(con, "subtotal")
    assert (verdict, found) == ("agreed", rule)
    assert "its rounding fits 1," in sentences(con, "subtotal")[0]


@pytest.mark.slow
def test_the_order_of_rows_decides_nothing(make_orders: Any, state: Any, gather: Any) -> None:
    """The same orders in another order have the same populations, sentences and evidence."""
    orders = make_orders(111, 900)
    state(orders, USUAL, OBSERVED, noise=0.02)
    state([order for order in orders if order.platform == "ios"], USUAL, "without_tip/unrounded", noise=0.02)
    shuffled = [dataclasses.replace(order) for order in orders]
    random.Random(1).shuffle(shuffled)
    contents = [
        [
            con.sql(f"from {table} order by all").fetchall()
            for table in ("audit.formula_populations", "audit.order_rules")
        ]
        for con in (gather(orders), gather(shuffled))
    ]
    assert contents[0] == contents[1]
