"""mart.store_products: what a product is called, once per store and product."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Given, Run

# Store 1 has menus 10 and 11, store 2 has menu 12; product 5 stands in all three, 6 in one, 7 in none.
GIVEN: Given = {
    "core.store_menus": [
        {"store_id": 1, "menu_id": 11},
        {"store_id": 1, "menu_id": 10},
        {"store_id": 2, "menu_id": 12},
        {"store_id": 2, "menu_id": 99},
    ],
    "core.products": [
        {"menu_id": 10, "product_id": 5, "name": None},
        {"menu_id": 11, "product_id": 5, "name": "Tea"},
        {"menu_id": 12, "product_id": 5, "name": "Soup"},
        {"menu_id": 12, "product_id": 6, "name": "Cake"},
    ],
    "mart.product_mix": [
        {"store_id": 1, "product_id": 6},
        {"store_id": 1, "product_id": 7},
        {"store_id": 1, "product_id": 5},
        {"store_id": None, "product_id": 5},
        {"store_id": 1, "product_id": None},
    ],
}


def named(run_table: Run, product_ids: str) -> list[tuple[Any, ...]]:
    """Return (store_id, product_id, product_name, is_on_menu, menus, names)."""
    rows = run_table("mart.store_products", GIVEN | {"raw.settings": [{"menus_product_id_scope": product_ids}]})
    return [tuple(row.values()) for row in rows]


@pytest.mark.duckdb2
def test_ids_global(run_table: Run) -> None:
    """Any menu may name a product, the store's own before others; how many names there are is said."""
    assert named(run_table, "global") == [
        (1, 5, "Tea", True, 3, 2),
        (1, 6, "Cake", False, 1, 1),
        (1, 7, None, False, 0, 0),
        (2, 5, "Soup", True, 3, 2),
        (2, 6, "Cake", True, 1, 1),
    ]


@pytest.mark.duckdb2
def test_ids_per_menu(run_table: Run) -> None:
    """Only the store's own menus may name a product: the same id elsewhere is another product."""
    assert named(run_table, "per_menu") == [
        (1, 5, "Tea", True, 2, 1),
        (1, 6, None, False, 0, 0),
        (1, 7, None, False, 0, 0),
        (2, 5, "Soup", True, 1, 1),
        (2, 6, "Cake", True, 1, 1),
    ]
