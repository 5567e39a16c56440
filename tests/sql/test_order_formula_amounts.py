"""workings.order_formula_amounts: what a subtotal and a total come to by the rules in force."""

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


def amounts(
    run_table: Run, rule: str | None, *components: str | None, lines: tuple[str | None, ...] = ("10",), **of: Any
) -> Any:
    """Return the row of an order with these components and lines, by this rule of the total; `of` all components."""
    in_force = {"order_id": 1, "total_rule": rule, "subtotal_rule": "lines"}
    (row,) = run_table(
        "workings.order_formula_amounts",
        {
            "mart.orders": [{"order_id": 1, "currency": "EUR", "total_price": "13"} | PARTS],
            "mart.order_lines": [
                {"order_id": 1, "line_no": number, "line_amount": amount} for number, amount in enumerate(lines)
            ],
            "audit.order_rules": [in_force | {"subtotal_population_no": 0, "total_population_no": 3}],
            "workings.order_components": [
                {"order_id": 1, "component_no": number, "amount": amount, **of}
                for number, amount in enumerate(components, 1)
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


@pytest.mark.parametrize(
    ("factor", "lines", "subtotal"),
    [
        ("1.08", ("10", "0.8"), "10"),
        ("1.08", ("0.99",), "0.92"),  # 0.91666…
        ("1.08", ("0.5346",), "0.50"),  # 0.495: half up
        ("-1", ("10", "0.5346"), "-10.5346"),
        ("1", ("0.5346",), "0.5346"),
        ("1.08", (None,), None),
    ],
)
def test_a_subtotal_leaves_out_what_prices_include(
    run_table: Run, factor: str, lines: tuple[str | None, ...], subtotal: str | None
) -> None:
    """Lines by the factor, half up in units of the currency; negated they keep what they are."""
    row = amounts(run_table, "plain", "0", lines=lines, price_factor=factor)
    assert row["formula_subtotal"] == (None if subtotal is None else Decimal(subtotal))
    assert row["formula_total"] == Decimal("12.5")


def test_a_factor_that_may_not_apply_leaves_both_open(run_table: Run) -> None:
    """Of an order that lacks a field which its condition asks for, nothing is known."""
    row = amounts(run_table, "plain", None, price_factor="1.08")
    assert (row["formula_subtotal"], row["formula_total"]) == (None, None)


@pytest.mark.parametrize(
    ("step", "components", "total"),
    [
        ("0.05", ("0",), "12.5"),
        ("0.05", ("0.0125", "0.0124"), "12.5"),
        ("0.05", ("0.0125", "0.0125"), "12.55"),  # half up
        ("5", ("0",), "15"),
        ("0.05", (None,), None),
    ],
)
def test_a_total_is_rounded_to_a_step(
    run_table: Run, step: str, components: tuple[str | None, ...], total: str | None
) -> None:
    """To its multiples, half up, whatever the rule rounds; unknown where it may not apply."""
    for rule in ("plain", "whole"):
        row = amounts(run_table, rule, *components, step=step)
        assert row["formula_total"] == (None if total is None else Decimal(total))
