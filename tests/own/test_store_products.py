"""docs/models/store_products.sql: what a product is called, once per store and product."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


def named(run_model: Run) -> list[tuple[Any, ...]]:
    """Return (store_id, product_id, product_name, is_on_menu, menus, names)."""
    return [tuple(row.values()) for row in run_model("store_products", GIVEN)]


def test_any_menu_may_name_a_product(run_model: Run) -> None:
    """The store's own menus come before others; how many names there are is said."""
    assert named(run_model) == [
        (1, 5, "Tea", True, 3, 2),
        (1, 6, "Cake", False, 1, 1),
        (1, 7, None, False, 0, 0),
        (2, 5, "Soup", True, 3, 2),
        (2, 6, "Cake", True, 1, 1),
    ]
