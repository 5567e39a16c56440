"""The arithmetic that a receipt writes out, against the rules' names and apart from the tables' SQL."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from pipelines.report.identities import line_rule, total_rule
from pipelines.warehouse import catalogue
from pipelines.warehouse.evidence import create_candidates

if TYPE_CHECKING:
    from pipelines.report.identities import LineRule

PARTS = {"subtotal_price": "subtotal", "delivery_price": "delivery", "tip": "tip", "discount": "discount"}


def catalogued() -> duckdb.DuckDBPyConnection:
    """Return a database with the catalogue of rules."""
    db = duckdb.connect()
    db.execute("create schema raw")
    db.execute("create schema audit")
    create_candidates(db)
    for table in ("audit.formula_forms", "audit.formula_rules"):
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
                for order in orders:
                    assert subtotal(rule, order) == world.subtotal_by(full(name), order), (name, order)
                continue
            whole = total_rule(db, name)
            for order in orders[:3]:
                stated = {column: getattr(order, field) for column, field in PARTS.items()}
                written, total = whole.total(stated | {"loyalty_discount": order.loyalty})
                assert total == world.total_by(name, order), (name, written)
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
        )[1]
        for line in order.lines
    ]
    discount = rule.discount_sign * order.discount
    result = sum(amounts, Decimal(0)) + discount
    return rule.rounding.of(result) if rule.rounding.per == "order" else result


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
    assert rule.line(line, [{"price": Decimal(120), "quantity": 3, "action": "add"}])[0] == f"2 × {written}"
