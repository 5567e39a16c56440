"""workings.daily_vocabulary: which values the coded fields of orders have, by business day."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

DAY = dt.date(2026, 11, 20)


@pytest.mark.duckdb2
def test_every_coded_field(run_table: Run) -> None:
    """Values are counted by order and by how often they stand in orders, exactly as sent; a null is no value."""
    rows = run_table(
        "workings.daily_vocabulary",
        {
            "mart.orders": [
                {"order_id": 1, "business_date": DAY, "status": "done", "platform": "web", "dispatch_method": None},
                {"order_id": 2, "business_date": DAY, "status": "Done", "platform": "web", "dispatch_method": ""},
            ],
            "core.order_line_modifiers": [
                {"order_id": order_id, "line_no": line_no, "modifier_no": 1, "action": action}
                for order_id, line_no, action in ((1, 1, "add"), (1, 2, "add"), (2, 1, "add"), (2, 2, None))
            ],
            "core.order_deliveries": [
                {"order_id": 2, "delivery_no": 1, "type": "own_delivery", "status": "confirmed"},
                {"order_id": 2, "delivery_no": 2, "type": "own_delivery", "status": "lost"},
            ],
        },
    )
    assert [
        (row["path"], row["value"], row["document_count"], row["occurrence_count"], row["example_id"]) for row in rows
    ] == [
        ("/deliveries/*/status", "confirmed", 1, 1, 2),
        ("/deliveries/*/status", "lost", 1, 1, 2),
        ("/deliveries/*/type", "own_delivery", 1, 2, 2),
        ("/dispatch_method", "", 1, 1, 2),
        ("/items/*/modifiers/*/action", "add", 2, 3, 1),
        ("/platform", "web", 2, 2, 1),
        ("/status", "Done", 1, 1, 2),
        ("/status", "done", 1, 1, 1),
    ]


def test_days_apart(run_table: Run) -> None:
    """Each day has its own rows, orders without a day too."""
    orders = [{"order_id": 1, "business_date": DAY, "status": "done"}, {"order_id": 2, "status": "done"}]
    rows = run_table("workings.daily_vocabulary", {"mart.orders": orders})
    assert [(row["business_date"], row["document_count"]) for row in rows] == [(DAY, 1), (None, 1)]


def test_replaced_statuses_stay_known(run_table: Run) -> None:
    """A status that was replaced counts for no order now; what never changed is as old as the first version."""
    order = {"order_id": 1, "business_date": "2026-11-20", "_fetched_at": "2026-11-20T05:00:00Z"}
    version = {"order_id": 1, "first_seen_at": "2026-11-20T01:00:00Z"}
    rows = run_table(
        "workings.daily_vocabulary",
        {
            "mart.orders": [order | {"status": "done", "platform": "web"}],
            "core.order_versions": [version | {"version_no": 1}, version | {"version_no": 2}],
            "core.order_status_observations": [
                version | {"observation_no": 1, "status": "new"},
                version | {"observation_no": 2, "status": "done", "first_seen_at": "2026-11-20T05:00:00Z"},
            ],
        },
    )
    assert [(row["path"], row["value"], row["document_count"], row["first_seen_at"].hour) for row in rows] == [
        ("/platform", "web", 1, 1),
        ("/status", "done", 1, 5),
        ("/status", "new", 0, 1),
    ]


@pytest.mark.duckdb2
def test_a_value_is_as_old_as_the_version_that_brought_it(run_table: Run) -> None:
    """A platform, action or type that only an update has is first seen in it; those before stay, for no order."""
    first = {"order_id": 1, "version_no": 1, "lines_version_no": 1, "first_seen_at": "2026-11-20T01:00:00Z"}
    second = {"order_id": 1, "version_no": 2, "lines_version_no": 1, "first_seen_at": "2026-11-20T03:00:00Z"}
    third = {"order_id": 1, "version_no": 3, "lines_version_no": 2, "first_seen_at": "2026-11-20T05:00:00Z"}
    modifier = {"order_id": 1, "line_no": 1, "modifier_no": 1}
    order = {"order_id": 1, "business_date": DAY, "_fetched_at": "2026-11-20T05:00:00Z"}
    change = {"order_id": 1, "field": "platform"}
    rows = run_table(
        "workings.daily_vocabulary",
        {
            "mart.orders": [order | {"platform": "kiosk", "dispatch_method": "robot"}],
            "core.order_versions": [
                first | {"delivery_types": ["own"]},
                second | {"delivery_types": ["own"]},
                third | {"delivery_types": ["own", "drone", None]},
            ],
            "core.order_changes": [
                change | {"version_no": 2, "old_value": "web", "new_value": "app"},
                change | {"version_no": 3, "old_value": "app", "new_value": "kiosk"},
            ],
            "core.order_line_modifiers": [
                modifier | {"action": "swap"},
                modifier | {"modifier_no": 2, "action": "add"},
            ],
            "core.order_line_modifier_versions": [
                modifier | {"lines_version_no": 1, "action": "add"},
                modifier | {"lines_version_no": 2, "action": "swap"},
                modifier | {"modifier_no": 2, "lines_version_no": 2, "action": "add"},
            ],
            "core.order_deliveries": [
                {"order_id": 1, "delivery_no": 1, "type": "own"},
                {"order_id": 1, "delivery_no": 2, "type": "drone"},
            ],
        },
    )
    assert [(row["path"], row["value"], row["document_count"], row["first_seen_at"].hour) for row in rows] == [
        ("/deliveries/*/type", "drone", 1, 5),
        ("/deliveries/*/type", "own", 1, 1),
        ("/dispatch_method", "robot", 1, 1),
        ("/items/*/modifiers/*/action", "add", 1, 1),
        ("/items/*/modifiers/*/action", "swap", 1, 5),
        ("/platform", "app", 0, 3),
        ("/platform", "kiosk", 1, 5),
        ("/platform", "web", 0, 1),
    ]
