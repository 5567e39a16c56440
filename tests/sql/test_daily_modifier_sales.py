"""audit.daily_modifier_sales: lines and modifiers by day; tests/sql/test_modifier_attach_rates.py has the rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def test_lines_and_modifiers_have_rows_of_their_own(run_table: Run) -> None:
    """A day has a row of a product's lines, and one of each of its modifiers; lines of different days are apart."""
    line: dict[str, Any] = {"sale_class": "counted", "currency": "EUR", "product_id": 5}
    modifier = line | {"order_id": 1, "modifier_id": 9, "is_repeated": False, "menu_entry_count": 1}
    rows = run_table(
        "audit.daily_modifier_sales",
        {
            "mart.order_lines": [line | {"business_date": day} for day in ("2026-01-10", "2026-01-10", None)],
            "mart.order_line_modifiers": [modifier | {"business_date": "2026-01-10"}] * 2,
        },
    )
    assert [(row["business_date"] is None, row["is_modifier"], row["item_count"]) for row in rows] == [
        (False, False, 2),
        (False, True, 2),
        (True, False, 1),
    ]
