"""workings.daily_field_values: the values of fields of orders, by business day."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

DAY = dt.date(2026, 11, 20)


@pytest.mark.duckdb2
def test_measured_by_day(run_table: Run) -> None:
    """Amounts have least, greatest and decimals; texts lengths; times their span; encrypted fields only presence."""
    rows = run_table(
        "workings.daily_field_values",
        {
            "mart.orders": [
                {"order_id": 1, "business_date": DAY, "_fetched_at": "2026-11-20T01:00:00Z"},
                {"order_id": 2, "business_date": DAY, "_fetched_at": "2026-11-20T02:00:00Z"},
                {"order_id": 3, "business_date": None},
            ],
            "core.orders": [
                {
                    "order_id": 1,
                    "tip": "1.5",
                    "status": "done",
                    "has_user_name": False,
                    "created_at": "2026-11-20T00:30:00Z",
                },
                {"order_id": 2, "tip": "-0.0625", "status": "", "has_user_name": True},
                {"order_id": 3, "has_user_latitude": True},
            ],
            "core.order_lines": [
                {"order_id": 1, "line_no": 1, "name": "Süß", "quantity": 2},
                {"order_id": 1, "line_no": 2, "quantity": 7, "has_instructions": True},
            ],
        },
    )
    found = {row["path"]: row for row in rows if row["business_date"] == DAY}
    tip = found["/tip"]
    assert (tip["parent_count"], tip["present_count"], tip["max_decimals"]) == (2, 2, 4)
    assert (tip["min_value"], tip["max_value"]) == (Decimal("-0.0625"), Decimal("1.5"))
    assert tip["last_seen_at"] == dt.datetime(2026, 11, 20, 2, tzinfo=dt.UTC)
    status = found["/status"]
    assert (status["min_length"], status["max_length"], status["empty_count"], status["min_value"]) == (0, 4, 1, None)
    assert found["/created_at"]["min_timestamp"] == dt.datetime(2026, 11, 20, 0, 30, tzinfo=dt.UTC)
    assert (found["/created_at"]["present_count"], found["/created_at"]["parent_count"]) == (1, 2)
    name = found["/user_name"]
    assert (name["present_count"], name["empty_count"], name["max_length"], name["max_value"]) == (2, 1, None, None)
    assert (found["/items/*/name"]["present_count"], found["/items/*/name"]["max_length"]) == (1, 3)
    assert found["/items/*/quantity"]["max_value"] == Decimal(7)
    assert found["/platform"]["present_count"] == 0
    assert found["/platform"]["first_seen_at"] is None
    without_day = {row["path"]: row for row in rows if row["business_date"] is None}
    assert (without_day["/user_latitude"]["present_count"], without_day["/user_latitude"]["type"]) == (1, "number")
    assert "/items/*/name" not in without_day
