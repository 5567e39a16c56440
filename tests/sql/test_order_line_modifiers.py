"""core.order_line_modifiers: the modifiers of an order's lines, by place."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

TEA = {
    "product_id": 5,
    "modifiers": [
        {"id": 8, "name": "Milk", "action": "add", "quantity": 3, "price": "99999999999999.9999"},
        {"id": None, "name": None, "action": None, "quantity": None, "price": None},
        {"id": 8, "name": "Milk", "action": "remove", "quantity": 1, "price": "-0.0001"},
    ],
}
PLAIN = {"product_id": 6, "modifiers": [{"id": 9, "name": "Ice", "action": "add", "quantity": 0, "price": "0"}]}


def modifiers(run_table: Run, *of_orders: Any) -> list[dict[str, Any]]:
    """Return the rows of the orders 1, 2, … with these items."""
    orders = [
        {"order_id": number, "document": {"id": number, "items": items}, "_load_id": f"L{number}"}
        for number, items in enumerate(of_orders, 1)
    ]
    return run_table("core.order_line_modifiers", {"raw.latest_orders": orders})


@pytest.mark.duckdb2
def test_modifier_is_its_place_in_its_line(run_table: Run) -> None:
    """Lines without modifiers keep their number; each modifier has its line's product and its order's load."""
    rows = modifiers(run_table, [{"modifiers": None}, TEA, {"modifiers": []}, PLAIN], None, [], [PLAIN])
    assert [(row["order_id"], row["line_no"], row["modifier_no"], row["product_id"]) for row in rows] == [
        (1, 2, 1, 5),
        (1, 2, 2, 5),
        (1, 2, 3, 5),
        (1, 4, 1, 6),
        (4, 1, 1, 6),
    ]
    assert [row["_load_id"] for row in rows] == ["L1", "L1", "L1", "L1", "L4"]


def test_modifier_is_as_sent(run_table: Run) -> None:
    """Money keeps every digit and its sign; nothing that is missing is filled in, and zero is not missing."""
    rows = modifiers(run_table, [TEA, PLAIN])
    fields = ("modifier_id", "name", "action", "quantity", "price")
    assert [tuple(row[field] for field in fields) for row in rows] == [
        (8, "Milk", "add", 3, Decimal("99999999999999.9999")),
        (None, None, None, None, None),
        (8, "Milk", "remove", 1, Decimal("-0.0001")),
        (9, "Ice", "add", 0, Decimal(0)),
    ]
