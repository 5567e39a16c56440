"""workings.order_field_issues, menu_field_issues and store_field_issues: what validation noted of a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run


@pytest.mark.duckdb2
@pytest.mark.parametrize("entity", ["order", "menu", "store"])
def test_only_what_is_odd(run_table: Run, entity: str) -> None:
    """A document that lacks a field, has an unknown one or was rounded is a row; one without any of these is not."""
    key = f"{entity}_id"
    unknown = {"_unknown": {"/a": "string", "/b/*/c": "number|null"}}
    rows = run_table(
        f"workings.{entity}_field_issues",
        {
            f"raw.latest_{entity}s": [
                {key: 1, "document": {}, "absences": [], "rounded": 0, "_load_id": "L"},
                {key: 2, "document": {}, "absences": ["name=null"], "rounded": 0, "_load_id": "L"},
                {key: 3, "document": unknown, "absences": [], "rounded": 0, "_load_id": "L"},
                {key: 4, "document": {}, "absences": [], "rounded": 2, "_load_id": "L"},
            ]
        },
    )
    assert [(row[key], row["missing_fields"], row["unknown_fields"], row["rounded_count"]) for row in rows] == [
        (2, ["name=null"], [], 0),
        (3, [], ["/a:string", "/b/*/c:number|null"], 0),
        (4, [], [], 2),
    ]
