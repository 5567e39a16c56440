"""audit.order_local_times: an order's times on its store's clocks; tests/sql/test_mart_orders.py has the cases."""

from __future__ import annotations

import datetime as dt
import zoneinfo
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


def test_times_around_changes_of_clocks_are_those_of_zoneinfo(run_table: Run) -> None:
    """A second before, at and after a change; a store without a zone, or with an invalid one, has that of settings."""
    zones = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", None, "Mars/Olympus"]
    changes = ["2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z", "2026-11-01T06:00:00Z", "2026-04-04T15:00:00Z"]
    moments = [dt.datetime.fromisoformat(each) + dt.timedelta(seconds=s) for each in changes for s in (-1, 0, 1)]
    orders = [
        {"order_id": number, "store_id": number % len(zones), "created_at": moment, "promised_pick_up_time": changes[0]}
        for number, moment in enumerate(each for each in moments for _ in zones)
    ]
    stores = [{"store_id": number, "timezone": zone} for number, zone in enumerate(zones)]
    settings = [{"business_day_timezone": "Europe/Lisbon"}]
    given = {"core.orders": orders, "core.stores": stores, "raw.settings": settings}
    rows = run_table("audit.order_local_times", given)
    assert len(rows) == len(orders)
    for row, order in zip(rows, orders, strict=True):
        zone = zones[order["store_id"]]
        is_store = zone is not None and not zone.startswith("Mars")
        clock = zoneinfo.ZoneInfo(zone if zone and is_store else "Europe/Lisbon")
        assert (row["timezone"], row["timezone_source"]) == (clock.key, "store" if is_store else "setting")
        assert row["created_at_local"] == order["created_at"].astimezone(clock).replace(tzinfo=None)
        pick_up = dt.datetime.fromisoformat(changes[0]).astimezone(clock).replace(tzinfo=None)
        assert row["promised_pick_up_time_local"] == pick_up
