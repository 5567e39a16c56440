"""Worlds of orders by seed, whose rules are known, and the evidence's verdicts on them.

    python -m tests.worlds --seed 1
    python -m tests.worlds --seed 1 --seeds 500

A seed gives twelve worlds: how lines make the subtotal and parts the total, where another rule holds (platform,
dispatch method, store, status, days), what no rule explains, how rare each part is and how many orders are off by
chance are all drawn. Amounts are made with integers, apart from the SQL and the engine under test. A verdict that
names a rule is wrong when most of the orders of the population that hold some part which it claims to have decided
have another amount.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa

from pipelines.warehouse import catalogue
from pipelines.warehouse.evidence.gathering import find_places, gather_target
from pipelines.warehouse.evidence.verdicts import (
    AGREED,
    COMPATIBLE,
    NONE,
    SUPPORTED,
    UNDECIDED,
    EvidenceThresholds,
    create_candidates,
)
from pipelines.warehouse.rows.fresh_rows import typed
from pipelines.warehouse.rows.session import create_functions

if TYPE_CHECKING:
    from pipelines.warehouse.evidence.gathering import Gathered

WORLDS = 12
UNIT = 10_000  # amounts are integers in ten-thousandths
NO_RULE = np.iinfo(np.int64).min  # the true amount of an order that follows no rule
CHAIN = (
    "workings.formula_forms",
    "audit.formula_rules",
    "workings.formula_parts",
    "workings.order_line_sums",
    "workings.subtotal_patterns",
    "workings.total_patterns",
)
RATES = (0.0, 0.005, 0.03, 0.1, 0.3, 0.6)


@dataclass
class World:
    """Orders as columns, and by order the subtotal and total that its rule gives."""

    orders: dict[str, Any]
    lines: dict[str, Any]
    modifiers: dict[str, Any]
    truth: dict[str, Any] = field(default_factory=dict)
    story: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Rule:
    """A true rule: signs of delivery, tip, discount, loyalty in the total; how lines make the subtotal."""

    delivery: int = 1
    tip: int = 1
    discount: int = -1
    loyalty: int = -1
    by_quantity: bool = True
    modifiers: str = "unit own"  # of: none, unit own, unit, line own, line
    others: int = 1
    less_discount: int = 0
    """Of the subtotal: 0 before the discount, -1 less it, 1 plus it (sent as a negative number)."""


def draw_rule(chance: np.random.Generator, like: Rule | None = None) -> Rule:
    """Draw a rule; `like` another, it differs from it in one thing."""
    options: dict[str, tuple[Any, ...]] = {
        "delivery": (1, 1, 0, -1),
        "tip": (1, 1, 0, -1),
        "discount": (-1, -1, 0, 1),
        "loyalty": (-1, -1, 0, 1),
        "by_quantity": (True, True, False),
        "modifiers": ("unit own", "unit own", "unit", "line own", "line", "none"),
        "others": (1, 0, -1),
        "less_discount": (0, 0, -1, 1),
    }
    drawn = {name: values[chance.integers(len(values))] for name, values in options.items()}
    if like is None:
        return Rule(**drawn)
    name = list(options)[chance.integers(len(options))]
    others = [value for value in dict.fromkeys(options[name]) if value != getattr(like, name)]
    return Rule(**(vars(like) | {name: others[chance.integers(len(others))]}))


def draw_world(chance: np.random.Generator) -> World:
    """Draw a world: its orders, its rules and its faults."""
    world = draw_orders(chance, int(chance.choice((120, 400, 900, 1800))))
    orders = len(world.orders["order_id"])
    base = draw_rule(chance)
    world.story.append(str(base))
    rules, member = [base], np.zeros(orders, dtype=np.int64)
    unexplained = np.zeros(orders, dtype=np.bool_)
    zero = np.zeros(orders, dtype=np.bool_)
    constant = np.zeros(orders, dtype=np.int64)
    for _ in range(chance.choice((0, 1, 2), p=(0.35, 0.45, 0.2))):
        name, where = draw_scope(chance, world)
        kind = chance.choice(("rule", "rule", "rule", "unexplained", "zero", "constant"))
        world.story.append(f"{name}: {kind}, {where.sum()} orders")
        if kind == "rule":
            rules.append(draw_rule(chance, base))
            world.story.append(str(rules[-1]))
            member[where] = len(rules) - 1
        elif kind == "unexplained":
            unexplained |= where
        elif kind == "zero":
            zero |= where
        else:
            constant[where] += 9_900
    state(world, rules, member)
    spoil(chance, world, unexplained, zero, constant)
    return world


def draw_orders(chance: np.random.Generator, orders: int) -> World:
    """Draw orders with lines, modifiers and parts; their subtotals and totals are still to be stated."""
    digits = int(chance.choice((2, 2, 2, 0, 3)))
    unit = UNIT // 10**digits
    scale = 100 if digits == 0 else 1

    def money(low: float, high: float, size: int) -> Any:
        return chance.integers(int(low * scale * UNIT / unit), int(high * scale * UNIT / unit), size) * unit

    def part(low: float, high: float) -> Any:
        return np.where(chance.random(orders) < chance.choice(RATES), money(low, high, orders), 0)

    lines_of = chance.choice((1, 2, 3), orders, p=(0.5, 0.3, 0.2))
    line_order = np.repeat(np.arange(orders), lines_of)
    first = np.cumsum(lines_of) - lines_of
    line_no = np.arange(len(line_order)) - first[line_order] + 1
    many = chance.choice(RATES)
    quantity = np.where(chance.random(len(line_order)) < many, chance.integers(2, 5, len(line_order)), 1)
    chosen = np.where(chance.random(len(line_order)) < chance.choice(RATES), chance.integers(1, 3, len(line_order)), 0)
    on_line = np.repeat(np.arange(len(line_order)), chosen)
    size = len(on_line)
    own = np.where(chance.random(size) < chance.choice(RATES[:5]), 2, 1)
    other = chance.random(size) < chance.choice((0.0, 0.0, 0.03, 0.15))
    stores = int(chance.choice((1, 3, 30)))
    discount = part(1, 3) * chance.choice((1, 1, 1, -1))
    days = int(chance.choice((20, 60, 200)))
    return World(
        {
            "order_id": np.arange(orders) + 1,
            "platform": chance.choice(np.array(("web", "ios", "tablet", "kiosk")), orders, p=(0.5, 0.25, 0.2, 0.05)),
            "dispatch_method": chance.choice(np.array(("pick_up", "store_delivery")), orders),
            "status": chance.choice(np.array(("delivered", "ready", "cancelled")), orders, p=(0.8, 0.12, 0.08)),
            "store_id": chance.integers(1, stores + 1, orders),
            "day": chance.integers(0, days, orders),
            "delivery": part(1, 4),
            "tip": part(1, 5),
            "discount": discount,
            "loyalty": part(1, 2),
            "digits": digits,
        },
        {"order": line_order, "line_no": line_no, "price": money(2, 15, len(line_order)), "quantity": quantity},
        {"line": on_line, "price": money(0.5, 3, size), "quantity": own, "other": other},
    )


def draw_scope(chance: np.random.Generator, world: World) -> tuple[str, Any]:
    """Draw some of the orders: those of a value of a dimension, or of some days."""
    name = str(chance.choice(("platform", "dispatch_method", "store_id", "status", "day", "discount")))
    column = world.orders[name]
    if name == "discount":
        return "orders with a discount", column != 0
    if name == "day":
        first = int(chance.integers(1, max(2, column.max())))
        last = int(chance.choice((column.max(), min(column.max(), first + column.max() // 3))))
        return f"days {first} to {last}", (column >= first) & (column <= last)
    values = np.unique(column)
    value = values[chance.integers(len(values))]
    return f"{name} {value}", column == value


def subtotals(world: World, rule: Rule) -> Any:
    """Return the sum of each order's lines by a rule."""
    lines, modifiers = world.lines, world.modifiers
    amount = lines["price"] * (lines["quantity"] if rule.by_quantity else 1)
    if rule.modifiers != "none":
        each = modifiers["price"] * (modifiers["quantity"] if rule.modifiers.endswith("own") else 1)
        each = each * np.where(modifiers["other"], rule.others, 1)
        each = each * (lines["quantity"][modifiers["line"]] if rule.modifiers.startswith("unit") else 1)
        amount = amount + np.bincount(modifiers["line"], weights=each, minlength=len(amount)).astype(np.int64)
    made = np.bincount(lines["order"], weights=amount, minlength=len(world.orders["order_id"])).astype(np.int64)
    return made + rule.less_discount * world.orders["discount"]


def totals(world: World, rule: Rule) -> Any:
    """Return the sum of each order's parts by a rule."""
    orders = world.orders
    signs = {name: getattr(rule, name) for name in ("delivery", "tip", "discount", "loyalty")}
    return orders["subtotal"] + sum(sign * orders[name] for name, sign in signs.items())


def state(world: World, rules: list[Rule], member: Any) -> None:
    """State subtotals and totals, each order's by its rule."""
    world.orders["subtotal"] = np.choose(member, [subtotals(world, rule) for rule in rules])
    world.truth["subtotal"] = world.orders["subtotal"].copy()
    world.orders["total"] = np.choose(member, [totals(world, rule) for rule in rules])
    world.truth["total"] = world.orders["total"].copy()


def spoil(chance: np.random.Generator, world: World, unexplained: Any, zero: Any, constant: Any) -> None:
    """Let totals be what no candidate gives, in some scopes and by chance."""
    size = len(unexplained)
    unit = UNIT // 10 ** world.orders["digits"]
    orders, truth = world.orders, world.truth
    orders["total"] = np.where(unexplained, chance.integers(300, 4000, size) * max(unit, 100), orders["total"])
    orders["total"] = np.where(zero, 0, orders["total"] + constant)
    truth["total"][unexplained | zero | (constant != 0)] = NO_RULE
    for target in ("subtotal", "total"):
        noise = chance.choice((0.0, 0.0, 0.005, 0.01, 0.02, 0.03))
        off = chance.random(size) < noise
        orders[target] = np.where(off, orders[target] + chance.integers(1, 500, size) * unit, orders[target])
        if target == "subtotal":  # the total is made of the subtotal as stated
            orders["total"] = orders["total"] + np.where(zero | unexplained, 0, orders[target] - truth[target])
            truth["total"] = np.where(
                truth["total"] == NO_RULE, NO_RULE, truth["total"] + orders[target] - truth[target]
            )
        world.story.append(f"{target}: noise {noise}")


def load(world: World, *, min_orders: int = 20, noise: float = 0.05, shuffle: int | None = None) -> Any:
    """Return a database with the core tables of a world, and settings; rows in the order of a shuffle, if any."""
    con = duckdb.connect(config={"threads": 1})
    con.execute("set timezone = 'UTC'")
    for schema in ("raw", *catalogue.SCHEMAS):
        con.execute(f"create schema {schema}")
    create_functions(con)
    create_candidates(con)
    con.execute(
        "create table raw.settings as "
        "select ?::bigint as formula_min_distinguishing_orders, ?::double as formula_max_violation_rate",
        [min_orders, noise],
    )
    orders, lines, modifiers = world.orders, world.lines, world.modifiers
    order = np.arange(len(orders["order_id"]))
    if shuffle is not None:
        order = np.random.default_rng(shuffle).permutation(order)
    money = ("delivery", "tip", "discount", "loyalty", "subtotal", "total")
    given = pa.table(
        {name: orders[name][order] for name in ("order_id", "platform", "dispatch_method", "status", "store_id", "day")}
        | {name: orders[name][order] for name in money}
    )
    con.register("given", given)
    amounts = ", ".join(
        f"cast(given.{name} * 0.0001::decimal(5, 4) as decimal(18, 4)) as {column}"
        for name, column in zip(
            money,
            ("delivery_price", "tip", "discount", "loyalty_discount", "subtotal_price", "total_price"),
            strict=True,
        )
    )
    currency = {0: "JPY", 2: "EUR", 3: "KWD"}[orders["digits"]]
    con.execute(
        f"""
        create table mart.orders as
        select order_id, store_id, platform, dispatch_method, status,
            if(status = 'cancelled', 'excluded', 'counted') as sale_class,
            date '2026-01-01' + cast(day as integer) as business_date, isodow(business_date) as weekday,
            '{currency}' as currency, {amounts},
            null::bigint as line_count, null::decimal(38, 0) as unit_count, null::bigint as hour
        from given
        """
    )
    con.register("given", pa.table({**lines, "order_id": orders["order_id"][lines["order"]]}))
    con.execute(
        "create table core.order_lines as select order_id, line_no, line_no as product_id, '' as name, quantity, "
        "cast(price * 0.0001::decimal(5, 4) as decimal(18, 4)) as price from given"
    )
    of_line = modifiers["line"]
    con.register(
        "given",
        pa.table(
            {
                "order_id": orders["order_id"][lines["order"][of_line]],
                "line_no": lines["line_no"][of_line],
                "price": modifiers["price"],
                "quantity": modifiers["quantity"],
                "action": np.where(modifiers["other"], "remove", "add"),
            }
        ),
    )
    con.execute(
        "create table core.order_line_modifiers as select order_id, line_no, action, quantity, "
        "cast(price * 0.0001::decimal(5, 4) as decimal(18, 4)) as price from given"
    )
    con.execute(
        "create table workings.order_components "
        "(order_id bigint, component_no bigint, amount decimal(38, 8), price_factor decimal(18, 4), "
        "step decimal(18, 4))"
    )
    con.execute(
        "create table workings.order_rule_settings (order_id bigint, subtotal_setting_no bigint, "
        "total_setting_no bigint)"
    )
    con.execute("create table raw.formula_settings (setting_no bigint, rule_target varchar, rule varchar)")
    for name in CHAIN:
        con.execute(f"create table {name} as {typed(catalogue.table(name))}")
    return con


def rule_of(target: str, parameters: list[int | None]) -> Rule:
    """Return the rule that a form of the catalogue stands for."""
    if target == "total":
        _, delivery, tip, discount, loyalty = parameters
        return Rule(delivery=delivery, tip=tip, discount=discount, loyalty=loyalty)  # type: ignore[arg-type]
    price, counted, per_line, once, others, discount = parameters
    modifiers = f"{'line' if per_line else 'unit'}{'' if once else ' own'}" if counted else "none"
    return Rule(
        by_quantity=price == 0,
        modifiers=modifiers,
        others={None: 1, 0: 1, 1: 0, 2: -1}[others],
        less_discount={0: 0, 1: -1, 2: 1}[discount or 0],
    )


def judged(world: World, con: Any, target: str, thresholds: EvidenceThresholds) -> list[tuple[str, bool, str]]:
    """Return verdict, whether it is wrong and a description for each population of a rule target."""
    found: Gathered = gather_target(con, target, thresholds, find_places(con))
    parameters = dict(
        con.execute(
            "select form_no - 1, rule_parameters from workings.formula_forms where rule_target = ?", [target]
        ).fetchall()
    )
    rows = con.execute("select node, order_id, pattern_no from facts order by order_id").fetchnumpy()
    results = []
    for node in found.nodes:
        if node.dimension or node.judgement is None:
            continue
        judgement = node.judgement
        mine = np.flatnonzero(rows["node"] == node.no)
        place = rows["order_id"][mine] - 1
        signs = parameters[judgement.leader]
        amount = (totals if target == "total" else subtotals)(world, rule_of(target, signs))[place]
        if target == "total" and signs[0] != 1:
            amount = amount + (signs[0] - 1) * world.orders["subtotal"][place]
        holds = found.patterns.holds[rows["pattern_no"][mine]]
        valued = ~holds[:, judgement.open_parts].any(axis=1)
        is_off = (amount != world.truth[target][place]) & valued
        wrong = judgement.verdict in (SUPPORTED, AGREED) and (
            is_off.sum() > valued.sum() / 2
            or any(
                is_off[holds[:, part]].sum() > holds[valued, part].sum() / 2
                for part in range(len(found.forms.parts))
                if found.forms.is_tested[part] and holds[valued, part].sum() >= thresholds.orders
            )
        )
        about = (
            f"{target}, population {node.no}: {judgement.verdict}, {judgement.fits} of {judgement.orders}, "
            f"{found.forms.descriptions[judgement.leader]}"
        )
        results.append((judgement.verdict, bool(wrong), about))
    return results


def main() -> None:
    """Judge the worlds of some seeds, and print each wrong verdict and the shares."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    started = time.perf_counter()
    for seed in range(options.seed, options.seed + options.seeds):
        for number in range(WORLDS):
            world = draw_world(np.random.default_rng([seed, number]))
            with load(world) as con:
                for target in ("subtotal", "total"):
                    for verdict, wrong, about in judged(world, con, target, EvidenceThresholds(20, 0.05)):
                        counts[verdict] += 1
                        counts["wrong"] += wrong
                        if wrong or not options.quiet:
                            print(f"seed {seed}, world {number}, {'WRONG, ' if wrong else ''}{about}")
                            if wrong:
                                print("   ", "; ".join(world.story))
    named = sum(counts[each] for each in (SUPPORTED, AGREED, COMPATIBLE, UNDECIDED, NONE))
    print(f"{named} verdicts in {time.perf_counter() - started:.0f} s:", dict(counts))


if __name__ == "__main__":
    main()
