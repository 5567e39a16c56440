"""audit.status_transitions: one row per kind of status, and change of it that was observed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run


@pytest.mark.duckdb2
def test_days_add_up(run_table: Run) -> None:
    """The days add up, the one without a date too; an order's status is not a delivery's."""

    def day(date: str | None, of: str, times: int, hour: int, example: int) -> dict[str, Any]:
        seen = f"2026-11-20T{hour:02d}:00:00Z"
        row = {
            "business_date": date,
            "entity_type": of,
            "previous_status": "new",
            "status": "done",
            "occurrence_count": times,
        }
        return row | {"first_seen_at": seen, "last_seen_at": seen, "example_id": example}

    rows = run_table(
        "audit.status_transitions",
        {
            "workings.daily_status_transitions": [
                day("2026-11-20", "order", 2, 5, 9),
                day(None, "order", 1, 3, 4),
                day("2026-11-20", "delivery", 1, 4, 6),
            ]
        },
    )
    assert [(row["entity_type"], row["occurrence_count"], row["example_id"]) for row in rows] == [
        ("delivery", 1, 6),
        ("order", 3, 4),
    ]
    assert (rows[1]["first_seen_at"].hour, rows[1]["last_seen_at"].hour) == (3, 5)
