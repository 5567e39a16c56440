"""audit.order_local_times: an order's times on its store's clocks; tests/sql/test_mart_orders.py has the cases."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run


@pytest.mark.duckdb2
def test_times_in_another_offset_than_the_first(run_table: Run) -> None:
    """Each time has the offset of its own moment, also where clocks change between an order's times."""
    order = {
        "order_id": 1,
        "store_id": 1,
        "created_at": "2026-10-24T22:00:00Z",
        "requested_time": "2026-10-25T00:30:00Z",
        "promised_delivery_time": "2026-10-25T01:30:00Z",
    }
    store = {"store_id": 1, "timezone": "Europe/Berlin"}
    (row,) = run_table("audit.order_local_times", {"core.orders": [order], "core.stores": [store]})
    half_past_two = dt.datetime(2026, 10, 25, 2, 30)  # noqa: DTZ001 - a wall time
    assert row == {
        "order_id": 1,
        "timezone": "Europe/Berlin",
        "timezone_source": "store",
        "created_at_local": dt.datetime(2026, 10, 25),  # noqa: DTZ001 - a wall time
        "requested_time_local": half_past_two,
        "promised_delivery_time_local": half_past_two,
        "promised_pick_up_time_local": None,
    }
