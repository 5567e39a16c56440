"""audit.field_profile: which fields are null, absent or unknown, by kind of document."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[[str, dict[str, list[dict[str, Any]]]], list[dict[str, Any]]]


@pytest.mark.duckdb2
def test_days_and_kinds_add_up(run_table: Run) -> None:
    """Days of orders add up to one row a field; menus and stores stand beside them."""
    at = "2026-11-20T0{}:00:00Z".format
    daily = [
        {"note": "tip=null", "documents": 2, "first_seen_at": at(1), "last_seen_at": at(3), "example_id": 7},
        {"note": "tip=null", "documents": 3, "first_seen_at": at(2), "last_seen_at": at(5), "example_id": 4},
        {"note": "items/*/name=absent", "documents": 1, "example_id": 9},
    ]
    rows = run_table(
        "audit.field_profile",
        {
            "audit.daily_field_profile": daily,
            "audit.menu_notes": [
                {"menu_id": 10, "absences": ["menu/name=null"], "unknown_fields": ["/a:b:number|null"]},
                {"menu_id": 11, "absences": ["menu/name=null"], "unknown_fields": []},
            ],
            "audit.store_notes": [{"store_id": 1, "absences": ["timezone=absent"], "unknown_fields": []}],
        },
    )
    assert [(row["kind"], row["path"], row["state"], row["documents"], row["example_id"]) for row in rows] == [
        ("menus", "/a:b", "unknown:number|null", 1, 10),
        ("menus", "/menu/name", "null", 2, 10),
        ("orders", "/items/*/name", "absent", 1, 9),
        ("orders", "/tip", "null", 5, 4),
        ("stores", "/timezone", "absent", 1, 1),
    ]
    assert rows[3]["first_seen_at"] == dt.datetime(2026, 11, 20, 1, tzinfo=dt.UTC)
    assert rows[3]["last_seen_at"] == dt.datetime(2026, 11, 20, 5, tzinfo=dt.UTC)
