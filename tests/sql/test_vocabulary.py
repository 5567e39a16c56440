"""audit.vocabulary: which values the coded fields have, over all documents."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run


@pytest.mark.duckdb2
def test_days_and_menus(run_table: Run) -> None:
    """Days of orders add up; a menu counts once for each value of its prices and products."""
    seen = {"_fetched_at": "2026-11-20T03:00:00Z"}
    current = {"version_no": 1, "is_current": True, "observed_from": "2026-11-20T03:00:00Z"}
    rows = run_table(
        "audit.vocabulary",
        {
            "workings.daily_vocabulary": [
                {
                    "path": "/status",
                    "value": "done",
                    "document_count": 2,
                    "occurrence_count": 2,
                    "is_of_unknown_time": True,
                    "example_id": 9,
                },
                {
                    "path": "/status",
                    "value": "done",
                    "document_count": 1,
                    "occurrence_count": 1,
                    "is_of_unknown_time": False,
                    "example_id": 4,
                    "first_seen_at": "2026-11-20T01:00:00Z",
                    "last_seen_at": "2026-11-20T02:00:00Z",
                },
            ],
            "core.menus": [{"menu_id": 10, **seen}, {"menu_id": 11, **seen}],
            "core.menu_price_versions": [
                {"menu_id": menu_id, "group_no": 1, "price_no": price_no, "channel": channel, **current}
                for menu_id, price_no, channel in ((10, 1, "both"), (10, 2, "both"), (11, 1, "both"), (11, 2, None))
            ],
            "core.menu_product_versions": [
                {"menu_id": 11, "product_id": 5, "dispatch_method": "both", **current},
                {"menu_id": 11, "product_id": 6, "dispatch_method": None, **current},
            ],
        },
    )
    assert [
        (row["path"], row["value"], row["document_count"], row["occurrence_count"], row["example_id"]) for row in rows
    ] == [
        ("/menu/price_groups/*/prices/*/channel", "both", 2, 3, 10),
        ("/products/*/dispatch_method", "both", 1, 1, 11),
        ("/status", "done", 3, 3, 4),
    ]
    assert [row["is_of_unknown_time"] for row in rows] == [False, False, True]
    assert rows[0]["last_seen_at"] == dt.datetime(2026, 11, 20, 3, tzinfo=dt.UTC)
    assert rows[2]["first_seen_at"] == dt.datetime(2026, 11, 20, 1, tzinfo=dt.UTC)


def test_menus_by_version(run_table: Run) -> None:
    """A value is as old as the first version of a menu that had it; one that no version has now stays, with none."""
    price = {"menu_id": 10, "group_no": 1, "price_no": 1}
    first = {"version_no": 1, "is_current": False, "observed_from": "2026-11-20T01:00:00Z"}
    second = {"version_no": 2, "is_current": True, "observed_from": "2026-11-20T05:00:00Z"}
    rows = run_table(
        "audit.vocabulary",
        {
            "core.menus": [{"menu_id": 10, "_fetched_at": "2026-11-20T05:00:00Z"}],
            "core.menu_price_versions": [
                price | first | {"channel": "both"},
                price | second | {"channel": "both"},
                price | first | {"price_no": 2, "channel": "old"},
                price | second | {"price_no": 2, "channel": "new"},
            ],
        },
    )
    assert [
        (row["value"], row["document_count"], row["first_seen_at"].hour, row["last_seen_at"].hour) for row in rows
    ] == [
        ("both", 1, 1, 5),
        ("new", 1, 5, 5),
        ("old", 0, 1, 1),
    ]


def test_a_value_that_menus_no_longer_have_was_last_seen_when_it_last_came(run_table: Run) -> None:
    """Of all versions that had it; one that is there was seen with its menu."""
    seen = {"menu_id": 11, "product_id": 5, "is_current": False}
    versions = [("both", 3), ("pick_up", 4), ("both", 5), ("delivery", 6)]
    rows = run_table(
        "audit.vocabulary",
        {
            "core.menus": [{"menu_id": 11, "_fetched_at": "2026-11-20T09:00:00Z"}],
            "core.menu_product_versions": [
                seen | {"version_no": number, "dispatch_method": value, "observed_from": f"2026-11-20T0{hour}:00:00Z"}
                for number, (value, hour) in enumerate(versions, 1)
            ]
            + [seen | {"product_id": 6, "version_no": 1, "dispatch_method": "store", "is_current": True}],
        },
    )
    found = {row["value"]: (row["document_count"], row["last_seen_at"].hour) for row in rows}
    assert found == {"both": (0, 5), "pick_up": (0, 4), "delivery": (0, 6), "store": (1, 9)}
