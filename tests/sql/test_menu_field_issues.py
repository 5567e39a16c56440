"""audit.menu_field_issues: what the gate noted of a menu's document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[[str, dict[str, list[dict[str, Any]]]], list[dict[str, Any]]]


@pytest.mark.duckdb2
def test_only_what_is_odd(run_table: Run) -> None:
    """A menu that lacks a field, has an unknown one or was rounded is a row; one without any of these is not."""
    unknown = {"_unknown": {"/a": "string", "/b/*/c": "number|null"}}
    rows = run_table(
        "audit.menu_field_issues",
        {
            "raw.latest_menus": [
                {"menu_id": 1, "document": {}, "absences": [], "rounded": 0, "_load_id": "L"},
                {"menu_id": 2, "document": {}, "absences": ["name=null"], "rounded": 0, "_load_id": "L"},
                {"menu_id": 3, "document": unknown, "absences": [], "rounded": 0, "_load_id": "L"},
                {"menu_id": 4, "document": {}, "absences": [], "rounded": 2, "_load_id": "L"},
            ]
        },
    )
    assert [(row["menu_id"], row["missing_fields"], row["unknown_fields"], row["rounded_count"]) for row in rows] == [
        (2, ["name=null"], [], 0),
        (3, [], ["/a:string", "/b/*/c:number|null"], 0),
        (4, [], [], 2),
    ]
