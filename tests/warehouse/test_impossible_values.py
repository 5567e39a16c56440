"""Orders with values that cannot be are kept, found, and stop no report; a zone that changes moves no day."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from pipelines.finance.reconciliation import reconciliation
from pipelines.finance.released import Selection, open_release
from pipelines.report.explain import explain_order
from pipelines.report.page.morning import write_morning_page
from pipelines.warehouse.release.release import publish
from tests.recorded import recorded

NOW = dt.datetime(2026, 11, 2, 3, 20, tzinfo=dt.UTC)
EARLY, LATE = "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"
NO_TIMES = (
    "0000-00-00",
    "0000-00-00 00:00:00",
    "-0001-11-30T00:00:00",
    "0000-12-31T23:00:00.000Z",
    "2101-01-01T00:00:00Z",
    "0001-01-01T00:00:00+0000",
    "9999-12-31 23:59:59+00",
    "292278994-08-17T07:12:55.807Z",
)
FIELDS = ("created_at", "requested_time", "promised_delivery_time", "promised_pick_up_time")


@pytest.mark.slow
def test_impossible_times_stop_no_report(world_of: Any, makers: Any, tmp_path: Any) -> None:
    """West and east of Greenwich, in each field: the order counts without that time, with a finding for each."""
    order, _, store = makers
    world = world_of(tmp_path / "world")
    zones = {1: "America/New_York", 2: "Asia/Tokyo"}
    world.land("stores", [{"id": id_, "document": store(id_, timezone=zone)} for id_, zone in zones.items()])
    odd = dict(enumerate(((field, time) for field in FIELDS for time in (EARLY, LATE)), 10))
    orders = {
        1: {},
        2: {},
        **{
            30 * east + id_: {field: time, "store_id": 1 + east}
            for east in (0, 1)
            for id_, (field, time) in odd.items()
        },
    }
    orders |= {id_: {"created_at": sent} for id_, sent in enumerate(NO_TIMES, 70)}
    world.land("orders", [{"id": id_, "document": order(id_, **given)} for id_, given in orders.items()])
    world.build()
    publish(world.settings)
    found = world.rows(
        "select entity_id, location from audit.findings where check_name = 'core.orders__have_possible_times'"
    )
    assert sorted(found) == sorted((id_, field) for id_, given in orders.items() for field in FIELDS if field in given)
    days = dict(world.rows("select order_id, business_date from mart.orders"))
    assert {id_ for id_, day in days.items() if day is None} == {
        id_ for id_, given in orders.items() if "created_at" in given
    }
    with open_release(world.settings) as release:
        assert reconciliation(release, Selection())
    assert all(explain_order(world.settings, id_) for id_ in orders)
    assert write_morning_page(world.settings, recorded(NOW, is_new=True), NOW) == ""
    # a closer look, and the same rows by increments as by a rebuild
    world.land("orders", [{"id": 10, "document": order(10, created_at=LATE, tip="1"), "at": 1}])
    world.build()
    before = world.contents()["core.order_changes"]
    world.build(full=True)
    assert world.contents()["core.order_changes"] == before
    assert [row[2] for row in before] == ["tip"]


@pytest.mark.slow
def test_a_zone_that_changes_moves_no_order_of_before(world_of: Any, makers: Any, tmp_path: Any) -> None:
    """By an increment and by a rebuild; with `all`, every order is on the new clocks."""
    order, _, store = makers
    world = world_of(tmp_path / "world")
    before, after = store(1, timezone="America/New_York"), store(1, timezone="Europe/Berlin")
    world.land("stores", [{"id": 1, "document": before, "at": 0}])
    times = {1: "2026-11-01T02:00:00Z", 2: "2026-11-02T23:30:00Z", 3: "2026-11-03T12:00:00Z", 4: "2026-11-03T23:30:00Z"}
    documents = [{"id": id_, "document": order(id_, store_id=1, created_at=at)} for id_, at in times.items()]
    world.land("orders", documents[:2])
    world.build()
    world.land("stores", [{"id": 1, "document": after, "at": 36}])  # 3 November, midnight in UTC
    world.land("orders", documents[2:])
    world.build()
    query = "select order_id, business_date from mart.orders order by 1"
    kept = [(1, dt.date(2026, 10, 31)), (2, dt.date(2026, 11, 2)), (3, dt.date(2026, 11, 3)), (4, dt.date(2026, 11, 4))]
    assert world.rows(query) == kept
    world.build(full=True)
    assert world.rows(query) == kept
    checks = "select entity_id from audit.findings where check_name = 'core.store_versions__keep_their_timezone'"
    assert world.rows(checks) == [(1,)]
    moved = world_of(tmp_path / "world", ORDERMART_BUSINESS_DAY__ZONE_CHANGES="all")
    moved.build()
    assert moved.rows(query) == [(1, dt.date(2026, 11, 1)), (2, dt.date(2026, 11, 3)), *kept[2:]]
    assert moved.rows("select sum(total_price) from mart.orders") == [(4 * Decimal("13.5001"),)]
