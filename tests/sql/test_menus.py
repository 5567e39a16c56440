"""core.menus: one row per menu, as last observed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run


@pytest.mark.duckdb2
def test_one_row_a_menu(run_table: Run) -> None:
    """A menu is a row, also one without a name or anything in it."""
    lineage = {"_load_id": "L1", "_payload_sha256": "aa"}
    rows = run_table(
        "core.menus",
        {
            "raw.latest_menus": [
                {"menu_id": 10, "document": {"menu": {"id": 10, "name": "Lunch"}}, "is_deleted": False, **lineage},
                {"menu_id": 11, "document": {"menu": {"id": 11}}, "is_deleted": True, **lineage},
            ]
        },
    )
    assert [(row["menu_id"], row["name"], row["is_deleted"]) for row in rows] == [
        (10, "Lunch", False),
        (11, None, True),
    ]
