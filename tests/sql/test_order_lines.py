"""core.order_lines: the lines of an order, by place."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

LINEAGE: dict[str, Any] = {"_load_id": "L1"}
TEA = {
    "id": 70,
    "product_id": 5,
    "name": "Tea",
    "quantity": 2,
    "price": "1.10",
    "modifiers": [
        {"id": 8, "name": "Milk", "action": "add", "quantity": 3, "price": "99999999999999.9999"},
        {"id": None, "name": None, "action": None, "quantity": None, "price": None},
        {"id": 8, "name": "Milk", "action": "add", "quantity": 1, "price": "0"},
    ],
}


def rows_of(run_table: Run, table: str, *documents: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows that a table makes of the orders 1, 2, … with these documents."""
    orders = [
        {"order_id": number, "document": {"id": number, **document}, **LINEAGE}
        for number, document in enumerate(documents, 1)
    ]
    return run_table(table, {"raw.latest_orders": orders})


@pytest.mark.duckdb2
def test_a_line_is_its_place(run_table: Run) -> None:
    """Equal lines are two; a line without anything is one; a null or absent array gives none."""
    rows = rows_of(run_table, "core.order_lines", {"items": [TEA, TEA, {}]}, {"items": None}, {}, {"items": []})
    assert [(row["order_id"], row["line_no"], row["product_id"], row["quantity"]) for row in rows] == [
        (1, 1, 5, 2),
        (1, 2, 5, 2),
        (1, 3, None, None),
    ]
    assert [row["price"] for row in rows] == [Decimal("1.10"), Decimal("1.10"), None]
