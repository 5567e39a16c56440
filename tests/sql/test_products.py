"""core.products: one row per product in a menu's products dictionary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def products(run_table: Run, *menus: tuple[int, Any]) -> list[tuple[Any, ...]]:
    """Return (menu_id, product_id, name, dispatch_method) of menus given with their products."""
    given = [{"menu_id": menu, "document": {"products": held}, "_load_id": "L1"} for menu, held in menus]
    rows = run_table("core.products", {"raw.latest_menus": given})
    return [(row["menu_id"], row["product_id"], row["name"], row["dispatch_method"]) for row in rows]


@pytest.mark.duckdb2
def test_keys_are_numbers(run_table: Run) -> None:
    """Dictionary keys are ids, also negative ones and those beyond what a double can count."""
    held = {"-4": {"name": "A"}, "9007199254740993": {"name": "B", "dispatch_method": "both"}}
    assert products(run_table, (10, held)) == [
        (10, -4, "A", None),
        (10, 9007199254740993, "B", "both"),
    ]


def test_the_same_product_in_two_menus(run_table: Run) -> None:
    """A product in two menus is a row in each, under the name that the menu gives it."""
    got = products(run_table, (10, {"5": {"name": "Pizza"}}), (11, {"5": {"name": "Pizza to go"}}))
    assert got == [(10, 5, "Pizza", None), (11, 5, "Pizza to go", None)]


def test_nothing_of_a_product(run_table: Run) -> None:
    """A key with nothing below it is a product; a menu without the dictionary has none."""
    assert products(run_table, (10, {"5": None, "6": {}}), (11, None), (12, {})) == [
        (10, 5, None, None),
        (10, 6, None, None),
    ]
