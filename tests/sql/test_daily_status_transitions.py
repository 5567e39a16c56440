"""workings.daily_status_transitions: one row per business day, kind of status, and change of it that was observed."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run


@pytest.mark.duckdb2
def test_changes_by_day(run_table: Run) -> None:
    """Changes count on the business day of their order; a first status is no change."""

    def seen(order_id: int, hour: int, before: str | None, status: str, *, is_change: bool = True) -> dict[str, Any]:
        first = f"2026-11-20T{hour:02d}:00:00Z"
        row = {"order_id": order_id, "previous_status": before, "status": status, "first_seen_at": first}
        return row | {"is_change": is_change}

    rows = run_table(
        "workings.daily_status_transitions",
        {
            "core.order_status_observations": [
                seen(1, 1, None, "new", is_change=False),
                seen(1, 5, "new", "done"),
                seen(2, 3, "new", "done"),
                seen(3, 2, "new", "done"),
            ],
            "core.delivery_status_observations": [seen(2, 4, None, "sent")],
            "mart.orders": [
                {"order_id": 1, "business_date": "2026-11-20"},
                {"order_id": 2, "business_date": "2026-11-20"},
                {"order_id": 3, "business_date": None},
            ],
        },
    )
    told = [
        (
            row["business_date"],
            row["entity_type"],
            row["previous_status"],
            row["status"],
            row["occurrence_count"],
            row["example_id"],
        )
        for row in rows
    ]
    day = dt.date(2026, 11, 20)
    assert told == [
        (day, "delivery", None, "sent", 1, 2),
        (day, "order", "new", "done", 2, 1),
        (None, "order", "new", "done", 1, 3),
    ]
    assert (rows[1]["first_seen_at"].hour, rows[1]["last_seen_at"].hour) == (3, 5)
