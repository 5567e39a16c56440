"""audit.menu_field_values: what the fields of menus hold."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[[str, dict[str, list[dict[str, Any]]]], list[dict[str, Any]]]


@pytest.mark.duckdb2
def test_each_part_of_a_menu_has_its_own_places(run_table: Run) -> None:
    """A field's places are the objects it belongs to: prices, products, references below each."""
    rows = run_table(
        "audit.menu_field_values",
        {
            "core.menus": [{"menu_id": 10, "name": "Lunch"}, {"menu_id": 11}],
            "core.price_groups": [{"menu_id": 10, "group_no": 1, "position": 1}],
            "core.menu_prices": [
                {"menu_id": 10, "product_id": 5, "price": "4.999", "channel": "both"},
                {"menu_id": 11, "product_id": 6, "price": None},
            ],
            "core.products": [{"menu_id": 10, "product_id": 5, "name": "Soup", "description": ""}],
            "core.modifier_edges": [
                {"menu_id": 10, "parent_type": "product", "modifier_id": 7, "price": "1"},
                {"menu_id": 10, "parent_type": "modifier", "modifier_id": 8, "price": "2"},
                {"menu_id": 10, "parent_type": "modifier", "modifier_id": 9, "price": "3"},
            ],
        },
    )
    found = {row["path"]: row for row in rows}
    price = found["/menu/price_groups/*/prices/*/price"]
    assert (price["parent_count"], price["present_count"], price["max_decimals"], price["max_value"]) == (
        2,
        1,
        3,
        Decimal("4.999"),
    )
    assert (
        found["/menu/name"]["parent_count"],
        found["/menu/name"]["present_count"],
        found["/menu/name"]["max_length"],
    ) == (2, 1, 5)
    assert (found["/products/*/description"]["empty_count"], found["/products/*/description"]["max_length"]) == (1, 0)
    assert found["/products/*/modifiers/*/price"]["max_value"] == Decimal(1)
    assert found["/modifiers/*/children/*/price"]["parent_count"] == 2
    assert found["/menu/price_groups/*/position"]["example_id"] == 10
