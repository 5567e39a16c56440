"""audit.store_field_issues: what the gate noted of a store's document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[[str, dict[str, list[dict[str, Any]]]], list[dict[str, Any]]]


@pytest.mark.duckdb2
def test_only_what_is_odd(run_table: Run) -> None:
    """A store that lacks a field, has an unknown one or was rounded is a row; one without any of these is not."""
    unknown = {"_unknown": {"/a": "string", "/b/*/c": "number|null"}}
    rows = run_table(
        "audit.store_field_issues",
        {
            "raw.latest_stores": [
                {"store_id": 1, "document": {}, "absences": [], "rounded": 0, "_load_id": "L"},
                {"store_id": 2, "document": {}, "absences": ["name=null"], "rounded": 0, "_load_id": "L"},
                {"store_id": 3, "document": unknown, "absences": [], "rounded": 0, "_load_id": "L"},
                {"store_id": 4, "document": {}, "absences": [], "rounded": 2, "_load_id": "L"},
            ]
        },
    )
    assert [(row["store_id"], row["missing_fields"], row["unknown_fields"], row["rounded_count"]) for row in rows] == [
        (2, ["name=null"], [], 0),
        (3, [], ["/a:string", "/b/*/c:number|null"], 0),
        (4, [], [], 2),
    ]
