"""core.price_groups: one row per price group of a menu."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def groups(run_table: Run, price_groups: Any) -> list[tuple[Any, ...]]:
    """Return (group_no, price_group_id, name, position) of a menu with these price groups."""
    document = {"menu": {"id": 10, "price_groups": price_groups}}
    rows = run_table(
        "core.price_groups", {"raw.latest_menus": [{"menu_id": 10, "document": document, "_load_id": "L"}]}
    )
    return [(row["group_no"], row["price_group_id"], row["name"], row["position"]) for row in rows]


@pytest.mark.duckdb2
def test_numbered_by_the_document(run_table: Run) -> None:
    """Groups are numbered as they stand, whatever their position says, and a repeated id stays."""
    got = groups(run_table, [{"id": 7, "name": "Pizza", "position": 2}, {"id": 7, "name": "Salad", "position": 1}])
    assert got == [(1, 7, "Pizza", 2), (2, 7, "Salad", 1)]


def test_null_in_place_of_a_group(run_table: Run) -> None:
    """A null element is a row of nulls, so that the places after it keep their numbers."""
    assert groups(run_table, [None, {"id": 8}]) == [(1, None, None, None), (2, 8, None, None)]


@pytest.mark.parametrize("price_groups", [None, []])
def test_no_groups(run_table: Run, price_groups: Any) -> None:
    """A null or empty array gives no row."""
    assert groups(run_table, price_groups) == []
