"""core.store_menus: one row per store and menu that the store's record names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def named(run_table: Run, *stores: tuple[int, Any]) -> list[tuple[int, int, int]]:
    """Return (store_id, menu_id, mention_count) of stores given with their menu_ids."""
    given = [{"store_id": store, "document": {"menu_ids": menus}, "_load_id": "L1"} for store, menus in stores]
    rows = run_table("core.store_menus", {"raw.latest_stores": given})
    return [(row["store_id"], row["menu_id"], row["mention_count"]) for row in rows]


@pytest.mark.duckdb2
def test_many_to_many(run_table: Run) -> None:
    """A store may have several menus, and a menu several stores."""
    assert named(run_table, (1, [10, 11]), (2, [11])) == [(1, 10, 1), (1, 11, 1), (2, 11, 1)]


def test_a_menu_named_twice_is_one_row(run_table: Run) -> None:
    """A menu that a record names twice is one row that says so."""
    assert named(run_table, (1, [10, 11, 10])) == [(1, 10, 2), (1, 11, 1)]


@pytest.mark.parametrize("menus", [None, [], [None]])
def test_nothing_named(run_table: Run, menus: Any) -> None:
    """A record that names no menu gives no row."""
    assert named(run_table, (1, menus)) == []
