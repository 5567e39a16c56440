"""workings.field_values: the values of fields of menus and stores."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run


@pytest.mark.duckdb2
def test_each_part_of_a_menu_has_its_own_places(run_table: Run) -> None:
    """A field's places are the objects it belongs to: prices, products, references below each."""
    rows = run_table(
        "workings.field_values",
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
    found = {row["path"]: row for row in rows if row["kind"] == "menus"}
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


def test_stores_show_what_settings_point_to(run_table: Run) -> None:
    """A store without a timezone counts as one place where it is not."""
    rows = run_table(
        "workings.field_values",
        {
            "core.stores": [
                {"store_id": 3, "name": "North", "timezone": None, "currency": "EUR"},
                {"store_id": 2, "name": "", "timezone": "Europe/Berlin", "currency": "EUR"},
            ],
        },
    )
    assert [(r["kind"], r["path"], r["present_count"], r["empty_count"], r["max_length"]) for r in rows] == [
        ("stores", "/currency", 2, 0, 3),
        ("stores", "/id", 2, None, None),
        ("stores", "/name", 2, 1, 5),
        ("stores", "/timezone", 1, 0, 13),
    ]
    assert (rows[3]["parent_count"], rows[3]["example_id"]) == (2, 2)
