"""audit.order_formula_amounts: what a subtotal and a total come to by the rules in force."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

RULES = [
    {"rule_target": "total", "rule": "plain", "rule_parameters": [1, 1, 1, -1, -1]},
    {
        "rule_target": "total",
        "rule": "whole",
        "rule_parameters": [1, 1, 1, -1, -1],
        "kept_decimals": 0,
        "rounded_per": "order",
        "rounding_mode": "down",
    },
    {"rule_target": "subtotal", "rule": "lines", "rule_parameters": [0, 0, None, None, None, 0]},
]
PARTS = {"subtotal_price": "10", "delivery_price": "2", "tip": "1", "discount": "0.5", "loyalty_discount": "0"}


def amounts(run_table: Run, rule: str | None, *components: str | None, lines: tuple[str | None, ...] = ("10",)) -> Any:
    """Return the row of an order with these components and lines, by this rule of the total."""
    in_force = {"order_id": 1, "total_rule": rule, "subtotal_rule": "lines"}
    (row,) = run_table(
        "audit.order_formula_amounts",
        {
            "mart.orders": [{"order_id": 1, "total_price": "13"} | PARTS],
            "mart.order_lines": [
                {"order_id": 1, "line_no": number, "line_amount": amount} for number, amount in enumerate(lines)
            ],
            "audit.order_rules": [in_force | {"subtotal_population_no": 0, "total_population_no": 3}],
            "audit.order_components": [
                {"order_id": 1, "component_no": number, "amount": amount} for number, amount in enumerate(components, 1)
            ],
            "audit.formula_rules": RULES,
        },
    )
    return row


@pytest.mark.parametrize(
    ("rule", "components", "total"),
    [
        ("plain", (), "12.5"),
        ("plain", ("0.123456",), "12.6235"),
        ("plain", ("0.25", "0.5"), "13.25"),
        ("plain", (None,), None),
        ("plain", ("0.25", None), None),
        ("whole", (), "12"),
        ("whole", ("0.49999999",), "12"),
        ("whole", ("0.5",), "13"),
        ("whole", (None,), None),
        (None, ("0.5",), None),
    ],
)
def test_a_total_with_components_and_roundings(
    run_table: Run, rule: str | None, components: tuple[str | None, ...], total: str | None
) -> None:
    """Components are added exactly, before the rule rounds; no total if one is unknown, or without a rule."""
    row = amounts(run_table, rule, *components)
    expected = None if total is None else Decimal(total)
    assert (row["formula_total"], row["total_residual"]) == (expected, None if expected is None else 13 - expected)


def test_a_subtotal_needs_the_amount_of_every_line(run_table: Run) -> None:
    """Lines without an amount add nothing, but then there is no sum; an order may have no line."""
    found = {}
    for lines in (("4", "6"), ("4", None), (None,), ()):
        row = amounts(run_table, "plain", lines=lines)
        found[lines] = (row["has_lines"], row["has_line_sum"], row["line_amount"], row["subtotal_residual"])
    assert list(found.values()) == [
        (True, True, 10, 0),
        (True, False, 4, None),
        (True, False, None, None),
        (False, False, None, None),
    ]
