"""core.modifier_edges: one row per modifier reference in a menu."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def edges(run_table: Run, products: Any, modifiers: Any) -> list[tuple[Any, ...]]:
    """Return (parent_type, parent_id, edge_no, modifier_id, price) of a menu with these dictionaries."""
    document = {"products": products, "modifiers": modifiers}
    given = [{"menu_id": 10, "document": document, "_load_id": "L"}]
    rows = run_table("core.modifier_edges", {"raw.latest_menus": given})
    return [(r["parent_type"], r["parent_id"], r["edge_no"], r["modifier_id"], r["price"]) for r in rows]


@pytest.mark.duckdb2
def test_price_in_that_place(run_table: Run) -> None:
    """A shared modifier has one row in each place, each with its own price."""
    got = edges(
        run_table,
        {
            "5": {"modifiers": [{"modifier_id": 1, "price": "0"}]},
            "6": {"modifiers": [{"modifier_id": 1, "price": "0.5"}]},
        },
        {"1": {"children": [{"modifier_id": 2, "price": "1.25"}, {"modifier_id": 2, "price": "-1"}]}},
    )
    assert got == [
        ("modifier", 1, 1, 2, Decimal("1.25")),
        ("modifier", 1, 2, 2, Decimal(-1)),
        ("product", 5, 1, 1, Decimal(0)),
        ("product", 6, 1, 1, Decimal("0.5")),
    ]


def test_product_and_modifier_of_one_number(run_table: Run) -> None:
    """A product and a modifier with the same number are different parents."""
    got = edges(run_table, {"1": {"modifiers": [{"modifier_id": 9}]}}, {"1": {"children": [{"modifier_id": 8}]}})
    assert got == [("modifier", 1, 1, 8, None), ("product", 1, 1, 9, None)]


def test_nulls(run_table: Run) -> None:
    """Null entries and arrays give no row; a null reference is a row of nulls."""
    got = edges(run_table, {"1": None, "2": {"modifiers": None}, "3": {"modifiers": [None]}}, None)
    assert got == [("product", 3, 1, None, None)]
