"""Which rules fit an order is exact: as Decimal arithmetic says, for every rule of the catalogue."""

from __future__ import annotations

import random
from decimal import Decimal
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
    query = "select order_id, tells >> 6, fits from audit.total_fits"
    if part == "subtotal":
        query = """
            select plain.order_id, plain.tells >> 6, coalesce(rounded.fits, [plain.fits])
            from audit.subtotal_fits as plain left join audit.rounded_subtotal_fits as rounded using (order_id)
        """
    rows = con.execute(query).fetchall()
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
    check(orders, chance, gather, world)


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
    """State prices by rules drawn at random, and compare every rule's fit with Decimal arithmetic."""
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


@pytest.mark.parametrize("first_other", [0, 100, 200])
def test_residuals_add_up_exactly(
    first_other: int, make_orders: Callable[..., Any], gather: Callable[..., Any], world: Any
) -> None:
    """Sum and largest residual of every form are those of Decimal arithmetic, in days with other actions or without."""
    orders = make_orders(50, 200)
    chance = random.Random(50)
    for order in sorted(orders, key=lambda each: each.business_date)[:first_other]:
        for line in order.lines:
            for modifier in line.modifiers:
                modifier.action = "add"
    for order in orders:
        order.lines[0].price += chance.choice((-1, 1)) * Decimal("999999999.9999")
        order.subtotal = Decimal(chance.randrange(-(10**14) + 1, 10**14)) / 10_000
        order.total = Decimal(chance.randrange(-(10**14) + 1, 10**14)) / 10_000
    con = gather(orders)
    query = """
        select rule, residual_sum, largest_residual from audit.formula_evidence
        where scope = 'all' and part = ? and rule like '%/unrounded'
    """
    for part, count, by in (("subtotal", 52, world.subtotal_by), ("total", 13, world.total_by)):
        rows = con.execute(query, [part]).fetchall()
        assert len(rows) == count
        for rule, residual_sum, largest in rows:
            residuals = [getattr(order, part) - by(rule, order) for order in orders]
            assert (residual_sum, largest) == (sum(residuals), max(map(abs, residuals)))


def test_counterexamples_are_the_first_three(
    make_orders: Callable[..., Any], state: Callable[..., Any], gather: Callable[..., Any], world: Any
) -> None:
    """Fits and the three lowest ids of orders that a rule does not fit are those of Decimal arithmetic."""
    orders = make_orders(51, 150)
    usual = "unit_price/modifiers_per_unit_by_own/all_add/before_discount/half_even_1_per_line"
    state(orders, usual, "without_tip/unrounded", 0.05)
    con = gather(orders)
    query = "select part, rule, fits, counterexamples from audit.formula_evidence where scope = 'all' order by all"
    rows = con.execute(query).fetchall()
    assert len(rows) > 52 + 13
    for part, rule, fits, found in rows:
        by = world.subtotal_by if part == "subtotal" else world.total_by
        name = rule if part == "total" or rule.count("/") == 4 else rule.replace("modifiers/", "modifiers/all_add/")
        against = [order.order_id for order in orders if by(name, order) != getattr(order, part)]
        assert (fits, found) == (len(orders) - len(against), sorted(against)[:3]), rule


def test_an_expression_is_its_rule(make_orders: Callable[..., Any], gather: Callable[..., Any], world: Any) -> None:
    """Each rule's SQL expression, run as it stands, gives what the rule's name says."""
    orders = make_orders(60, 40, 4)
    for order in orders:
        order.subtotal = Decimal(order.order_id) / 10_000
    con = gather(orders)
    con.execute("create macro round_half_up(x, kept) as cast(round(x, kept) as decimal(38, 4))")
    con.execute(
        """
        create macro round_half_even(x, kept) as cast(round(x, kept) as decimal(38, 4)) - if(
            abs(x - round(x, kept)) * 2 = cast('1e-' || kept as decimal(38, 4))
            and cast(round(x, kept) as decimal(38, 4)) % (2 * cast('1e-' || kept as decimal(38, 4))) <> 0,
            sign(x) * cast('1e-' || kept as decimal(38, 4)),
            0
        )
        """
    )
    for part, by, source in (
        ("subtotal", world.subtotal_by, "audit.order_line_sums join core.orders using (order_id) group by order_id"),
        ("total", world.total_by, "core.orders"),
    ):
        for rule, expression in con.execute(
            "select rule, expression from audit.formula_rules where part = ? order by hash(rule) limit 200", [part]
        ).fetchall():
            given = dict(con.execute(f"select order_id, {expression} from {source}").fetchall())
            assert given == {order.order_id: by(rule, order) for order in orders}, rule
