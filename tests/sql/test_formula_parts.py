"""workings.formula_parts: what an order can hold, by its place in holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def test_parts_in_the_order_of_holds(run_table: Run) -> None:
    """Seven of each target; those that forms treat alike refute none; each names the parameter that it decides."""
    rows = run_table("workings.formula_parts", {})
    found = [(row["rule_target"], row["part_no"], row["part"], row["is_tested"], row["parameter_no"]) for row in rows]
    assert found == [
        ("subtotal", 1, "quantity", True, 1),
        ("subtotal", 2, "modifiers", True, 2),
        ("subtotal", 3, "modifiers on quantity", True, 3),
        ("subtotal", 4, "modifier quantity", True, 4),
        ("subtotal", 5, "other action", True, 5),
        ("subtotal", 6, "discount", True, 6),
        ("subtotal", 7, "stated zero", False, None),
        ("total", 1, "delivery", True, 2),
        ("total", 2, "tip", True, 3),
        ("total", 3, "discount", True, 4),
        ("total", 4, "loyalty", True, 5),
        ("total", 5, "subtotal", True, 1),
        ("total", 6, "component", True, None),
        ("total", 7, "stated zero", False, None),
    ]
    assert all(row["deciding_case"].startswith("an order with ") for row in rows)
    assert len({(row["rule_target"], row["deciding_case"]) for row in rows}) == 14
