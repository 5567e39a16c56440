"""core.modifiers: one row per modifier in a menu's modifiers dictionary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run


@pytest.mark.duckdb2
def test_groups_and_options_alike(run_table: Run) -> None:
    """Groups and options are rows alike, once a menu, however often they are referred to."""
    held = {
        "1": {"name": "Size", "description": "", "children": [{"modifier_id": 2}, {"modifier_id": 2}]},
        "2": {"name": "Large", "children": []},
        "3": None,
    }
    rows = run_table(
        "core.modifiers",
        {
            "raw.latest_menus": [
                {"menu_id": 10, "document": {"modifiers": held}, "_load_id": "L1"},
                {"menu_id": 11, "document": {"modifiers": None}, "_load_id": "L1"},
            ]
        },
    )
    assert [(row["menu_id"], row["modifier_id"], row["name"], row["description"]) for row in rows] == [
        (10, 1, "Size", ""),
        (10, 2, "Large", None),
        (10, 3, None, None),
    ]
