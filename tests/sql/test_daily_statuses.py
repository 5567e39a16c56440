"""workings.daily_statuses: what orders of a business day look like, by status, currency and age."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def _order(order_id: int, day: str | None, total: str | None, hour: int, **others: Any) -> dict[str, Any]:
    return {
        "order_id": order_id,
        "business_date": day,
        "status": "done",
        "currency": "EUR",
        "sale_class": "counted",
        "is_deleted": False,
        "subtotal_price": "0.1",
        "total_price": total,
        "created_at": "2026-10-01T00:00:00Z",
        "last_checked_at": f"2026-10-{1 + hour // 24:02d}T{hour % 24:02d}:00:00Z",
        **others,
    }


@pytest.mark.duckdb2
def test_orders_stand_by_day_with_their_ages(run_table: Run) -> None:
    """Orders of a day count by status and age, money exact; no day is a day of its own, no age an age."""
    rows = run_table(
        "workings.daily_statuses",
        {
            "mart.orders": [
                _order(1, "2026-10-01", "0.2", 200),
                _order(2, "2026-10-01", "0", 5),
                _order(3, "2026-10-01", None, 5, is_deleted=True, sale_class="deleted"),
                _order(4, "2026-10-01", "9", 5, last_checked_at=None),
                _order(5, None, "1", 1, is_deleted=True, sale_class="deleted"),
            ]
        },
    )
    shown = (
        "business_date",
        "age_hours",
        "sale_class",
        "order_count",
        "deleted_count",
        "zero_total_count",
        "missing_total_count",
        "week_old_count",
        "subtotal_price",
        "total_price",
    )
    day = dt.date(2026, 10, 1)
    assert [tuple(row[each] for each in shown) for row in rows] == [
        (day, 5, "counted", 2, 1, 1, 1, 0, Decimal("0.2"), Decimal(0)),
        (day, 200, "counted", 1, 0, 0, 0, 1, Decimal("0.1"), Decimal("0.2")),
        (day, None, "counted", 1, 0, 0, 0, 0, Decimal("0.1"), Decimal(9)),
        (None, 1, None, 1, 1, 0, 0, 0, Decimal("0.1"), Decimal(1)),
    ]
