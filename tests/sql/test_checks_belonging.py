"""The checks that every row has its parent: each with a clean case and a planted fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

ORDER = {"order_id": 1}
LINE = {"order_id": 1, "line_no": 1}
MENU = {"menu_id": 10}
PATH = {"menu_id": 10, "product_id": 5, "depth": 1, "edge_nos": [2]}

# check: (tables that pass, a row added to one of them, where it is then found)
CASES: dict[str, tuple[dict[str, list[dict[str, Any]]], tuple[str, dict[str, Any]], tuple[int, str]]] = {
    "core.order_lines__belong_to_an_order": (
        {"core.orders": [ORDER], "core.order_lines": [LINE]},
        ("core.order_lines", {"order_id": 2, "line_no": 3}),
        (2, "line 3"),
    ),
    "core.order_line_modifiers__belong_to_a_line": (
        {"core.order_lines": [LINE], "core.order_line_modifiers": [LINE | {"modifier_no": 1}]},
        ("core.order_line_modifiers", {"order_id": 1, "line_no": 2, "modifier_no": 4}),
        (1, "line 2, modifier 4"),
    ),
    "core.order_deliveries__belong_to_an_order": (
        {"core.orders": [ORDER], "core.order_deliveries": [{"order_id": 1, "delivery_no": 1}]},
        ("core.order_deliveries", {"order_id": 2, "delivery_no": 1}),
        (2, "delivery 1"),
    ),
    "core.price_groups__belong_to_a_menu": (
        {"core.menus": [MENU], "core.price_groups": [{"menu_id": 10, "group_no": 1}]},
        ("core.price_groups", {"menu_id": 11, "group_no": 2}),
        (11, "group 2"),
    ),
    "core.menu_prices__belong_to_a_price_group": (
        {
            "core.price_groups": [{"menu_id": 10, "group_no": 1}],
            "core.menu_prices": [{"menu_id": 10, "group_no": 1, "price_no": 1}],
        },
        ("core.menu_prices", {"menu_id": 10, "group_no": 2, "price_no": 1}),
        (10, "group 2, price 1"),
    ),
    "core.products__belong_to_a_menu": (
        {"core.menus": [MENU], "core.products": [{"menu_id": 10, "product_id": 5}]},
        ("core.products", {"menu_id": 11, "product_id": 5}),
        (11, "product 5"),
    ),
    "core.modifiers__belong_to_a_menu": (
        {"core.menus": [MENU], "core.modifiers": [{"menu_id": 10, "modifier_id": 5}]},
        ("core.modifiers", {"menu_id": 11, "modifier_id": 5}),
        (11, "modifier 5"),
    ),
    "core.store_menus__belong_to_a_store": (
        {"core.stores": [{"store_id": 1}], "core.store_menus": [{"store_id": 1, "menu_id": 10}]},
        ("core.store_menus", {"store_id": 2, "menu_id": 10}),
        (2, "menu 10"),
    ),
    # A product and a modifier of one number are different parents.
    "core.modifier_edges__have_a_parent": (
        {
            "core.products": [{"menu_id": 10, "product_id": 5}],
            "core.modifiers": [{"menu_id": 10, "modifier_id": 6}],
            "core.modifier_edges": [
                {"menu_id": 10, "parent_type": "product", "parent_id": 5, "edge_no": 1},
                {"menu_id": 10, "parent_type": "modifier", "parent_id": 6, "edge_no": 1},
            ],
        },
        ("core.modifier_edges", {"menu_id": 10, "parent_type": "modifier", "parent_id": 5, "edge_no": 1}),
        (10, "modifier 5, edge 1"),
    ),
    "core.modifier_paths__have_a_parent_path": (
        {"core.modifier_paths": [PATH, PATH | {"depth": 2, "edge_nos": [2, 1]}]},
        ("core.modifier_paths", PATH | {"depth": 2, "edge_nos": [1, 1]}),
        (10, "product 5, path [1, 1]"),
    ),
}


@pytest.mark.duckdb2
@pytest.mark.parametrize("claim", CASES)
@pytest.mark.promise(7)
def test_row_without_parent_is_found(run_check: Run, claim: str) -> None:
    """Rows with a parent pass; one without is found, with its key and location."""
    given, (table, planted), (entity_id, place) = CASES[claim]
    assert run_check(claim, given) == []
    found = run_check(claim, given | {table: [*given[table], planted]})
    assert found == [{"entity_id": entity_id, "location": place}]
