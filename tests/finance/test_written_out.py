"""The arithmetic that a receipt writes out: worked out as it stands, it is that of the rule's name."""

from __future__ import annotations

import re
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from pipelines.report.identities import identities, line_rule, total_rule
from pipelines.warehouse import catalogue
from pipelines.warehouse.evidence.verdicts import create_candidates

if TYPE_CHECKING:
    from pipelines.report.identities import LineRule

PARTS = {"subtotal_price": "subtotal", "delivery_price": "delivery", "tip": "tip", "discount": "discount"}


def catalogued() -> duckdb.DuckDBPyConnection:
    """Return a database with the catalogue of rules."""
    db = duckdb.connect()
    db.execute("create schema raw")
    db.execute("create schema audit")
    db.execute("create schema workings")
    create_candidates(db)
    for table in ("workings.formula_forms", "audit.formula_rules"):
        db.execute(f"create table {table} as {catalogue.table(table).sql}")
    return db


@pytest.mark.slow
def test_every_rule_is_written_out_as_it_is(make_orders: Any, state: Any, world: Any) -> None:
    """Under each rule of the catalogue the lines and parts written out add up to the rule's sum."""
    orders = make_orders(5, 12, 3)
    state(orders, "unit_price/no_modifiers/all_add/before_discount/unrounded", "observed/unrounded")
    with catalogued() as db:
        names = db.execute("select rule_target, rule from audit.formula_rules order by all").fetchall()
        for part, name in names:
            if part == "subtotal":
                rule = line_rule(db, name)
                assert rule is not None
                for order in orders[:4]:
                    assert subtotal(rule, order) == world.subtotal_by(full(name), order), (name, order)
                continue
            whole = total_rule(db, name)
            for order in orders[:3]:
                stated = {column: getattr(order, field) for column, field in PARTS.items()}
                written = whole.total(stated | {"loyalty_discount": order.loyalty})
                assert worked_out(written) == world.total_by(name, order), (name, written)
    assert len(names) > 3000


def full(name: str) -> str:
    """Return the rule's name with all five answers: one without modifiers leaves out the answer by action."""
    parts = name.split("/")
    return name if len(parts) == 5 else "/".join([*parts[:2], "all_add", *parts[2:]])


def subtotal(rule: LineRule, order: Any) -> Decimal:
    """Return the subtotal of an order by the lines written out."""
    amounts = [
        rule.line(
            {"price": line.price, "quantity": line.quantity},
            [{"price": each.price, "quantity": each.quantity, "action": each.action} for each in line.modifiers],
        )
        for line in order.lines
    ]
    result = sum(map(worked_out, amounts), Decimal(0)) + rule.discount_sign * order.discount
    return worked_out(rule.rounding.written(f"({result:f})")) if rule.rounding.per == "order" else result


MODES = {"half up": ROUND_HALF_UP, "half even": ROUND_HALF_EVEN, "down": ROUND_DOWN}


def worked_out(written: str) -> Decimal:
    """Return what the terms of a receipt come to."""
    text = written.replace(",", "").replace("×", "*").replace("\N{MINUS SIGN}", "-")
    numbers = re.sub(r"(?<![\w.])\d+(?:\.\d+)?(?! decimals)", lambda found: f"Decimal('{found[0]}')", text)
    called = re.sub(r"(half up|half even|down) to (\d) decimals of \(", r"rounded('\1', \2, ", numbers)

    def rounded(mode: str, decimals: int, amount: Decimal = Decimal(0)) -> Decimal:
        return amount.quantize(Decimal(1).scaleb(-decimals), MODES[mode])

    return Decimal(eval(called or "0", {"Decimal": Decimal, "rounded": rounded}))  # noqa: S307 -- our own text


@pytest.mark.parametrize(
    ("currency", "written"),
    [
        ("JPY", "40,080 + 2 × (3 × 120)"),
        ("KWD", "40,080.000 + 2 × (3 × 120.000)"),
        (None, "40,080.00 + 2 × (3 × 120.00)"),
    ],
)
def test_prices_are_written_with_the_digits_of_their_currency(currency: str | None, written: str) -> None:
    """The price of a modifier has as many digits as that of its line."""
    with catalogued() as db:
        rule = line_rule(db, "unit_price/modifiers_per_unit_by_own/all_add/before_discount/unrounded", currency)
    assert rule is not None
    line = {"price": Decimal(40080), "quantity": 2}
    assert rule.line(line, [{"price": Decimal(120), "quantity": 3, "action": "add"}]) == f"2 × {written}"


def test_a_receipt_writes_out_a_factor_and_a_step() -> None:
    """Lines by what they include more than the subtotal, and a total in whole steps, as the tables have both."""
    subtotal = "unit_price/no_modifiers/all_add/before_discount/unrounded"
    order = {"order_id": 1, "currency": "EUR", "subtotal_price": Decimal("9.17"), "total_price": Decimal("9.15")}
    order |= {"delivery_price": Decimal(0), "tip": Decimal(0), "discount": Decimal(0), "loyalty_discount": Decimal(0)}
    checked = {"total_rule": "observed/unrounded", "subtotal_rule": subtotal, "verdict": "balanced", "reason": None}
    checked |= {f"{part}_{name}": None for part in ("total", "subtotal") for name in ("residual", "likely_cause")}
    checked |= {"subtotal_residual": Decimal(0), "total_residual": Decimal(0)}
    checked |= {"formula_subtotal": Decimal("9.17"), "formula_total": Decimal("9.15")}
    unchecked = checked | {f"{part}_residual": None for part in ("total", "subtotal")}
    bases = dict.fromkeys(("total_basis", "subtotal_basis", "total_population_no", "subtotal_population_no"))
    with catalogued() as db:
        db.execute("create schema mart")
        db.execute("create table mart.order_lines as select 1 as order_id, 1 as line_no, 9.90 as line_amount")
        db.execute(
            "create table audit.formula_populations (rule_target text, scope text, sentence text, population_no int)"
        )
        components = "(1, 1, 'net', 0, 1.08, null), (1, 2, 'coin', 0, null, 0.05)"
        columns = "order_id, component_no, name, amount, price_factor, step"
        db.execute(f"create table workings.order_components as from (values {components}) as rows ({columns})")
        written = "\n".join(identities(db, order, checked, bases, line_rule(db, subtotal, "EUR")))
        db.execute("update workings.order_components set amount = null where component_no = 1")
        unknown = "\n".join(identities(db, order, unchecked, bases, line_rule(db, subtotal, "EUR")))
    assert "= (9.90) / 1.08 = 9.17" in written
    assert "to multiples of 0.05 = 9.15" in written
    assert written.count("residual 0.00") == 2
    assert unknown.count("residual: indeterminate") == 2
