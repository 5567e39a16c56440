"""workings.daily_fetch_outcomes: what came of asking for each order last, by store and business day."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sql.conftest import Run

DAY = dt.date(2026, 10, 31)


def check(order_id: int, verdict: str, source: str = "live") -> dict[str, Any]:
    """Return a row of raw.order_checks."""
    return {"order_id": order_id, "last_verdict": verdict, "last_source": source}


def test_orders_are_counted_by_what_came_last(run_table: Run) -> None:
    """An order counts under its store and day by the last verdict; a document out of a file was not fetched."""
    rows = run_table(
        "workings.daily_fetch_outcomes",
        {
            "raw.order_checks": [
                check(1, "accepted"),
                check(2, "unchanged"),
                check(3, "missing"),
                check(4, "accepted", "archive"),
                check(5, "failed"),
                check(6, "quarantined", "archive"),
            ],
            "mart.orders": [
                {"order_id": n, "store_id": None if n > 4 else 7, "business_date": DAY} for n in range(1, 7)
            ],
        },
    )
    assert rows == [
        {
            "store_id": 7,
            "business_date": DAY,
            "known_count": 4,
            "fetched_count": 2,
            "unchanged_count": 1,
            "archive_count": 1,
        }
        | {"not_found_count": 1, "failed_count": 0, "quarantined_count": 0},
        {
            "store_id": None,
            "business_date": DAY,
            "known_count": 2,
            "fetched_count": 0,
            "unchanged_count": 0,
            "archive_count": 0,
        }
        | {"not_found_count": 0, "failed_count": 1, "quarantined_count": 1},
    ]
