"""audit.order_residuals: residuals that are not zero, with what may explain them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.sql.conftest import Run

RULES = {"subtotal_rule": "a", "total_rule": "b", "subtotal_population_no": 1, "total_population_no": 2}


def test_each_residual_that_is_not_zero_has_a_row(run_table: Run) -> None:
    """Two of an order that has two; none for a residual that is zero or unknown."""
    residuals = {1: ("1", "-2"), 2: ("0", "3"), 3: (None, "4"), 4: ("0", "0"), 5: (None, None)}
    rows = run_table(
        "audit.order_residuals",
        {
            "mart.orders": [
                {"order_id": number, "sale_class": "counted", "subtotal_price": "11", "total_price": "8", "tip": "7"}
                for number in residuals
            ],
            "audit.order_formula_amounts": [
                RULES
                | {"order_id": number, "has_lines": True, "has_line_sum": True}
                | {"formula_subtotal": "10", "formula_total": "10"}
                | {"subtotal_residual": subtotal, "total_residual": total}
                for number, (subtotal, total) in residuals.items()
            ],
        },
    )
    columns = ("order_id", "rule_target", "residual", "expected", "stated", "rule", "population_no", "tip")
    assert [tuple(row[column] for column in columns) for row in rows] == [
        (1, "subtotal", 1, 10, 11, "a", 1, 7),
        (1, "total", -2, 10, 8, "b", 2, 7),
        (2, "total", 3, 10, 8, "b", 2, 7),
        (3, "total", 4, 10, 8, "b", 2, 7),
    ]
