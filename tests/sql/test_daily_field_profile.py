"""workings.daily_field_profile: what orders lack or have beyond the interface, by business day."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run


@pytest.mark.duckdb2
def test_counted_by_day(run_table: Run) -> None:
    """An order counts once under each of its notes, on its day or under none."""
    notes = [
        {
            "order_id": 1,
            "missing_fields": ["tip=null"],
            "unknown_fields": ["/a:string"],
            "_fetched_at": "2026-11-20T01:00:00Z",
        },
        {"order_id": 2, "missing_fields": ["tip=null"], "unknown_fields": [], "_fetched_at": "2026-11-20T02:00:00Z"},
        {"order_id": 3, "missing_fields": ["tip=null"], "unknown_fields": []},
    ]
    days = [
        {"order_id": 1, "business_date": "2026-11-20"},
        {"order_id": 2, "business_date": "2026-11-20"},
        {"order_id": 3, "business_date": None},
        {"order_id": 4, "business_date": "2026-11-20"},
    ]
    rows = run_table("workings.daily_field_profile", {"workings.order_field_issues": notes, "mart.orders": days})
    day = dt.date(2026, 11, 20)
    assert [(row["business_date"], row["note"], row["document_count"], row["example_id"]) for row in rows] == [
        (day, "/a:string", 1, 1),
        (day, "tip=null", 2, 1),
        (None, "tip=null", 1, 3),
    ]
    assert rows[1]["first_seen_at"] == dt.datetime(2026, 11, 20, 1, tzinfo=dt.UTC)
    assert rows[1]["last_seen_at"] == dt.datetime(2026, 11, 20, 2, tzinfo=dt.UTC)
    assert rows[2]["first_seen_at"] is None
