"""workings.customer_order_numbers: which of its customer's orders an order is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run


@pytest.mark.duckdb2
def test_orders_are_numbered_by_time_then_id(run_table: Run) -> None:
    """Each customer counts from 1; who has no key, and an order without a time, has no number."""
    orders = [("a", 5, 3), ("a", 4, 7), ("a", 4, 6), ("b", 9, 1), (None, 1, 2), ("b", None, 4)]
    rows = run_table(
        "workings.customer_order_numbers",
        {
            "core.orders": [
                {
                    "customer_key": customer,
                    "order_id": order_id,
                    "created_at": day and f"2026-01-{day:02d}T12:00:00Z",
                    "is_deleted": order_id == 6,
                }
                for customer, day, order_id in orders
            ]
        },
    )
    assert [tuple(row.values()) for row in rows] == [("b", 1, 1), ("a", 3, 3), ("a", 6, 1), ("a", 7, 2)]
