"""mart.product_mix: one row per store, business day, sale class and product sold."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def line(
    order_id: int,
    line_no: int,
    product_id: int | None,
    quantity: int | None,
    name: str | None = "Tea",
    **others: Any,
) -> dict[str, Any]:
    """Return a row of mart.order_lines: store 1, 10 January."""
    return {
        "order_id": order_id,
        "line_no": line_no,
        "store_id": 1,
        "business_date": "2026-01-10",
        "sale_class": "counted",
        "product_id": product_id,
        "quantity": quantity,
        "name": name,
        "currency": "EUR",
        **others,
    }


def mix(run_table: Run, *lines: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the mix of these lines."""
    return run_table("mart.product_mix", {"mart.order_lines": list(lines)})


@pytest.mark.duckdb2
def test_orders_lines_and_units(run_table: Run) -> None:
    """A product in two lines of an order is one order, two lines, and as many units as both state."""
    rows = mix(run_table, line(1, 1, 5, 2), line(1, 2, 5, 3), line(2, 1, 5, None), line(2, 2, 6, None))
    assert [(row["product_id"], row["order_count"], row["line_count"], row["unit_count"]) for row in rows] == [
        (5, 2, 3, 5),
        (6, 1, 1, None),
    ]


def test_classes_and_lines_without_a_product(run_table: Run) -> None:
    """Classes stand side by side; lines that name no product are one row under null."""
    deleted = line(2, 1, 5, 1, sale_class="deleted")
    rows = mix(run_table, line(1, 1, 5, 1), line(1, 2, None, 1), line(1, 3, None, 1), deleted)
    assert [(row["sale_class"], row["product_id"], row["line_count"]) for row in rows] == [
        ("counted", 5, 1),
        ("counted", None, 2),
        ("deleted", 5, 1),
    ]


def test_a_product_that_was_renamed(run_table: Run) -> None:
    """Of several names on one day the last by alphabet is shown, and that there were several."""
    rows = mix(
        run_table,
        line(2, 1, 5, 1, "Tea, hot"),
        line(1, 9, 5, 1, "Tea"),
        line(2, 2, 6, 1, "Cake"),
        line(2, 3, 7, 1, None),
    )
    assert [(row["ordered_name"], row["has_multiple_names"]) for row in rows] == [
        ("Tea, hot", True),
        ("Cake", False),
        (None, False),
    ]


def test_a_name_is_of_its_day(run_table: Run) -> None:
    """A product renamed between days has each day's own name; only the day with both says so, in its own class."""
    rows = mix(
        run_table,
        line(1, 1, 5, 1, "Tea"),
        line(2, 1, 5, 1, "Chai", business_date="2026-01-11"),
        line(3, 1, 5, 1, None, business_date="2026-01-12"),
        line(4, 1, 5, 1, "Tea", business_date=None, store_id=None, currency=None),
        line(5, 1, 5, 1, "Chai", business_date=None, store_id=None, currency=None),
        line(6, 1, 5, 1, "Chai", business_date=None, store_id=None, currency=None, sale_class="deleted"),
    )
    found = {(str(row["business_date"]), row["sale_class"]): row for row in rows}
    assert {key: (row["ordered_name"], row["has_multiple_names"]) for key, row in found.items()} == {
        ("2026-01-10", "counted"): ("Tea", False),
        ("2026-01-11", "counted"): ("Chai", False),
        ("2026-01-12", "counted"): (None, False),
        ("None", "counted"): ("Tea", True),
        ("None", "deleted"): ("Chai", False),
    }


def test_repeats_are_of_their_order_and_product(run_table: Run) -> None:
    """Lines of one order that name no product, or have no store or day, count as one order like all others."""
    nowhere = {"business_date": None, "store_id": None, "currency": None}
    rows = mix(
        run_table,
        line(1, 1, None, 1, **nowhere),
        line(1, 2, None, 1, **nowhere),
        line(2, 1, None, 1, **nowhere),
        line(3, 1, 5, 1),
        line(3, 2, 5, 1),
        line(3, 3, 5, 1),
        line(4, 1, 5, 1, sale_class="deleted"),
    )
    told = {(row["product_id"], row["sale_class"]): (row["order_count"], row["line_count"]) for row in rows}
    assert told == {(None, "counted"): (2, 3), (5, "counted"): (1, 3), (5, "deleted"): (1, 1)}


def test_amounts_of_lines(run_table: Run) -> None:
    """Amounts of lines add up exactly, and lines without one are counted, not taken for nothing."""
    most = "99999999999999.9999"
    rows = mix(
        run_table,
        line(1, 1, 5, 1, line_amount=most),
        line(1, 2, 5, 1, line_amount="0.0001"),
        line(2, 1, 5, 1),
        line(2, 2, 6, 1),
    )
    assert [(row["line_amount"], row["unvalued_line_count"], row["currency"]) for row in rows] == [
        (Decimal(10) ** 14, 1, "EUR"),
        (None, 1, "EUR"),
    ]
