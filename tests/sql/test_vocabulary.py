"""audit.vocabulary: which values the coded fields have, over all documents."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[[str, dict[str, list[dict[str, Any]]]], list[dict[str, Any]]]


@pytest.mark.duckdb2
def test_days_and_menus(run_table: Run) -> None:
    """Days of orders add up; a menu counts once for each value of its prices and products."""
    seen = {"_fetched_at": "2026-11-20T03:00:00Z"}
    rows = run_table(
        "audit.vocabulary",
        {
            "audit.daily_vocabulary": [
                {
                    "path": "/status",
                    "value": "done",
                    "documents": 2,
                    "times": 2,
                    "is_of_unknown_time": True,
                    "example_id": 9,
                },
                {
                    "path": "/status",
                    "value": "done",
                    "documents": 1,
                    "times": 1,
                    "is_of_unknown_time": False,
                    "example_id": 4,
                    "first_seen_at": "2026-11-20T01:00:00Z",
                    "last_seen_at": "2026-11-20T02:00:00Z",
                },
            ],
            "core.menus": [{"menu_id": 10, **seen}, {"menu_id": 11, **seen}],
            "core.menu_prices": [
                {"menu_id": menu_id, "group_no": 1, "price_no": price_no, "channel": channel}
                for menu_id, price_no, channel in ((10, 1, "both"), (10, 2, "both"), (11, 1, "both"), (11, 2, None))
            ],
            "core.products": [
                {"menu_id": 11, "product_id": 5, "dispatch_method": "both"},
                {"menu_id": 11, "product_id": 6, "dispatch_method": None},
            ],
        },
    )
    assert [(row["path"], row["value"], row["documents"], row["times"], row["example_id"]) for row in rows] == [
        ("/menu/price_groups/*/prices/*/channel", "both", 2, 3, 10),
        ("/products/*/dispatch_method", "both", 1, 1, 11),
        ("/status", "done", 3, 3, 4),
    ]
    assert [row["is_of_unknown_time"] for row in rows] == [False, False, True]
    assert rows[0]["last_seen_at"] == dt.datetime(2026, 11, 20, 3, tzinfo=dt.UTC)
    assert rows[2]["first_seen_at"] == dt.datetime(2026, 11, 20, 1, tzinfo=dt.UTC)
