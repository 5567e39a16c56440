"""mart.orders: one wide row per order, its local times and business day computed in the build."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from importlib import resources
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.warehouse import catalogue

if TYPE_CHECKING:
    import duckdb

    from tests.sql.conftest import Run

BERLIN = {"store_id": 1, "name": "Nord", "timezone": "Europe/Berlin", "currency": "EUR"}


def order(order_id: int, created_at: str | None = None, **more: Any) -> dict[str, Any]:
    """Return a row of core.orders, of store 1 unless told."""
    return {"order_id": order_id, "store_id": 1, "created_at": created_at, "is_deleted": False, "_load_id": "L"} | more


def placed(run_table: Run, orders: list[dict[str, Any]], **more: Any) -> list[dict[str, Any]]:
    """Return mart.orders of these orders; settings and other tables by name."""
    stores = more.pop("stores", [BERLIN])
    tables = {
        "workings.customer_order_numbers": more.pop("numbers", []),
        "core.order_lines": more.pop("lines", []),
        "core.order_deliveries": more.pop("deliveries", []),
        "raw.order_checks": more.pop("checks", []),
        "core.store_versions": more.pop("versions", []),
    }
    return run_table("mart.orders", {"core.orders": orders, "core.stores": stores, "raw.settings": [more], **tables})


def clock(zone: str) -> ZoneInfo:
    """Return a timezone of the tzdata package: the machine's own files may be older."""
    with (resources.files("tzdata") / "zoneinfo").joinpath(*zone.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file)


def day(year: int, month: int, day_: int) -> dt.date:
    """Return a date."""
    return dt.date(year, month, day_)


@pytest.mark.duckdb2
def test_midnight_in_the_stores_time_zone(run_table: Run) -> None:
    """The day turns at the store's midnight: 23:00 UTC in winter, 22:00 UTC in summer."""
    rows = placed(
        run_table,
        [
            order(1, "2026-01-10T22:59:59.999999Z"),
            order(2, "2026-01-10T23:00:00Z"),
            order(3, "2026-07-10T21:59:59.999999Z"),
            order(4, "2026-07-10T22:00:00Z"),
        ],
    )
    assert [row["business_date"] for row in rows] == [
        day(2026, 1, 10),
        day(2026, 1, 11),
        day(2026, 7, 10),
        day(2026, 7, 11),
    ]
    assert rows[1]["created_at_local"] == dt.datetime(2026, 1, 11)  # noqa: DTZ001 - a wall time


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "date", "hours"),
    [
        ("00:00", day(2026, 3, 29), 23),
        ("00:00", day(2026, 10, 25), 25),
        ("00:00", day(2026, 6, 1), 24),
        ("04:00", day(2026, 3, 28), 23),
        ("04:00", day(2026, 10, 24), 25),
        ("04:00", day(2026, 10, 25), 24),
    ],
)
def test_days_of_23_and_25_hours(run_table: Run, start: str, date: dt.date, hours: int) -> None:
    """With one order every half hour, the business day in which clocks change has 46 or 50 of them."""
    half = dt.timedelta(minutes=30)
    first = dt.datetime.combine(date, dt.time(), dt.UTC) - 48 * half
    rows = placed(
        run_table,
        [order(n, (first + n * half).isoformat()) for n in range(48 * 4)],
        business_day_start=start,
    )
    assert len([row for row in rows if row["business_date"] == date]) == hours * 2


def test_day_start(run_table: Run) -> None:
    """Before day_start an order belongs to the evening before."""
    rows = placed(
        run_table,
        [order(1, "2026-01-10T02:59:59Z"), order(2, "2026-01-10T03:00:00Z")],
        business_day_start="04:00",
    )
    assert [row["business_date"] for row in rows] == [day(2026, 1, 9), day(2026, 1, 10)]


@pytest.mark.duckdb2
def test_the_readers_timezone_does_not_matter(run_table: Run, con: duckdb.DuckDBPyConnection) -> None:
    """Three session timezones give the same days and local times."""
    orders = [order(n, f"2026-10-25T{n:02}:15:00Z", requested_time="2026-12-31T23:30:00Z") for n in range(24)]
    placed(run_table, orders, business_day_start="04:00")
    answers = []
    for zone in ("UTC", "America/Los_Angeles", "Asia/Kathmandu"):
        con.execute(f"set timezone = '{zone}'")
        columns = "business_date, created_at_local, requested_time_local"
        sql = catalogue.table("mart.orders").sql
        answers.append(con.sql(f"select {columns} from ({sql}) order by order_id").fetchall())
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][0][2] == dt.datetime(2027, 1, 1, 0, 30)  # noqa: DTZ001 - a wall time


@pytest.mark.duckdb2
def test_times_in_another_offset_than_the_first(run_table: Run) -> None:
    """Each time has the offset of its own moment, also where clocks change between an order's times."""
    times = {"requested_time": "2026-10-25T00:30:00Z", "promised_delivery_time": "2026-10-25T01:30:00Z"}
    (row,) = placed(run_table, [order(1, "2026-10-24T22:00:00Z", **times)])
    half_past_two = dt.datetime(2026, 10, 25, 2, 30)  # noqa: DTZ001 - a wall time
    assert {name: row[name] for name in row if name.endswith("_local") or name.startswith("timezone")} == {
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
        order(number, store_id=number % len(zones), promised_pick_up_time=changes[0]) | {"created_at": moment}
        for number, moment in enumerate(each for each in moments for _ in zones)
    ]
    stores = [{"store_id": number, "timezone": zone} for number, zone in enumerate(zones)]
    rows = placed(run_table, orders, stores=stores, business_day_timezone="Europe/Lisbon")
    assert len(rows) == len(orders)
    for row, placed_order in zip(rows, orders, strict=True):
        zone = zones[placed_order["store_id"]]
        is_store = zone is not None and not zone.startswith("Mars")
        own = ZoneInfo(zone if zone and is_store else "Europe/Lisbon")
        assert (row["timezone"], row["timezone_source"]) == (own.key, "store" if is_store else "setting")
        assert row["created_at_local"] == placed_order["created_at"].astimezone(own).replace(tzinfo=None)
        pick_up = dt.datetime.fromisoformat(changes[0]).astimezone(own).replace(tzinfo=None)
        assert row["promised_pick_up_time_local"] == pick_up


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.datetimes(dt.datetime(1995, 1, 1), dt.datetime(2035, 1, 1)), min_size=1, max_size=60),  # noqa: DTZ001
    st.sampled_from(
        [
            "Europe/Berlin",
            "America/Sao_Paulo",
            "Asia/Kathmandu",
            "Australia/Lord_Howe",
            "Africa/Casablanca",
            "Pacific/Apia",
        ]
    ),
)
def test_local_times_are_those_of_the_zone(run_table: Run, times: list[dt.datetime], zone: str) -> None:
    """At any instant the local time is the zone database's, also on days when clocks change."""
    instants = [time.replace(tzinfo=dt.UTC) for time in times]
    rows = placed(
        run_table,
        [order(n, instant.isoformat()) for n, instant in enumerate(instants)],
        stores=[{"store_id": 1, "timezone": zone}],
    )
    assert [row["created_at_local"] for row in rows] == [
        instant.astimezone(clock(zone)).replace(tzinfo=None) for instant in instants
    ]


@pytest.mark.duckdb2
def test_where_the_timezone_comes_from(run_table: Run) -> None:
    """A store without a timezone, with one that does not exist, or without a record has the setting's."""
    rows = placed(
        run_table,
        [order(n, "2026-01-10T23:30:00Z", store_id=n) for n in (1, 2, 3, 4)] + [order(5, store_id=None)],
        stores=[BERLIN, {"store_id": 2, "timezone": None}, {"store_id": 3, "timezone": "Mars/Base"}],
        business_day_timezone="America/New_York",
    )
    assert [(row["timezone"], row["timezone_source"], row["business_date"]) for row in rows] == [
        ("Europe/Berlin", "store", day(2026, 1, 11)),
        ("America/New_York", "setting", day(2026, 1, 10)),
        ("America/New_York", "setting", day(2026, 1, 10)),
        ("America/New_York", "setting", day(2026, 1, 10)),
        ("America/New_York", "setting", None),
    ]


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("created_at", [day(2026, 1, 10), None]),
        ("requested_time", [day(2026, 1, 11), day(2026, 1, 13)]),
        ("promised_delivery_time", [None, None]),
    ],
)
def test_which_time_decides(run_table: Run, time: str, expected: list[dt.date | None]) -> None:
    """The setting names the time; an order without it is under a null day, not dropped and not under another time's."""
    rows = placed(
        run_table,
        [
            order(1, "2026-01-10T12:00:00Z", requested_time="2026-01-11T12:00:00Z"),
            order(2, None, requested_time="2026-01-13T12:00:00Z"),
        ],
        business_day_time=time,
    )
    assert [row["business_date"] for row in rows] == expected


@pytest.mark.duckdb2
def test_sale_class(run_table: Run) -> None:
    """A status counts only if it is exactly in a list; deleted takes precedence over both."""
    statuses: list[tuple[str | None, bool]] = [
        ("done", False),
        ("void", False),
        ("Done", False),
        ("", False),
        (None, False),
        ("done", True),
        ("void", True),
        (None, True),
    ]
    rows = placed(
        run_table,
        [order(n, status=status, is_deleted=is_deleted) for n, (status, is_deleted) in enumerate(statuses)],
        sales_counted=["done"],
        sales_excluded=["void"],
    )
    assert [row["sale_class"] for row in rows] == [
        "counted",
        "excluded",
        "unmapped",
        "unmapped",
        "unmapped",
        "deleted",
        "deleted",
        "deleted",
    ]


def test_nothing_is_mapped_unless_told(run_table: Run) -> None:
    """With no lists every order is unmapped: none is silently a sale."""
    assert [row["sale_class"] for row in placed(run_table, [order(1, status="preparing")])] == ["unmapped"]


@pytest.mark.duckdb2
def test_lines_and_units(run_table: Run) -> None:
    """Units are the quantities stated: 0 without lines, null where no line states one, and any integers add up."""
    huge = 2**63 - 1
    lines: list[dict[str, Any]] = [
        {"order_id": 1, "line_no": 1, "quantity": 2},
        {"order_id": 1, "line_no": 2, "quantity": None},
        {"order_id": 3, "line_no": 1, "quantity": None},
        {"order_id": 4, "line_no": 1, "quantity": huge},
        {"order_id": 4, "line_no": 2, "quantity": huge},
    ]
    rows = placed(run_table, [order(n) for n in (1, 2, 3, 4)], lines=lines)
    assert [(row["line_count"], row["unit_count"]) for row in rows] == [(2, 2), (0, 0), (1, None), (2, 2 * huge)]


def test_parts_and_names_as_they_are(run_table: Run) -> None:
    """Parts are copied, null stays null; the store's name and currency are labels, absent for an unknown store."""
    rows = placed(
        run_table,
        [order(1, subtotal_price="99999999999999.9999", tip=None), order(2, store_id=77, total_price="-1")],
        checks=[{"order_id": 1, "last_checked_at": "2026-02-01T00:00:00Z"}],
    )
    assert (rows[0]["store_name"], rows[0]["currency"], rows[0]["subtotal_price"], rows[0]["tip"]) == (
        "Nord",
        "EUR",
        Decimal("99999999999999.9999"),
        None,
    )
    assert rows[0]["last_checked_at"] == dt.datetime(2026, 2, 1, tzinfo=dt.UTC)
    assert (rows[1]["store_name"], rows[1]["currency"], rows[1]["total_price"]) == (None, None, Decimal(-1))


@pytest.mark.duckdb2
def test_hours_weekdays_and_promises(run_table: Run) -> None:
    """Hour and weekday are the store's; seconds are cut off, and a delivery comes before a pick-up."""
    both = {"promised_delivery_time": "2026-01-10T23:59:59Z", "promised_pick_up_time": "2026-01-10T23:10:00Z"}
    orders = [
        order(1, "2026-01-10T23:20:00Z", **both),
        order(2, "2026-01-10T23:20:00Z", promised_pick_up_time="2026-01-10T23:18:59Z"),
        order(3, None, **both),
        order(4, "2026-01-10T22:20:00Z"),
    ]
    rows = placed(run_table, orders, business_day_start="05:00")
    assert [(row["hour"], row["weekday"], row["minutes_promised"]) for row in rows] == [
        (0, 6, 39),
        (0, 6, -1),
        (None, None, None),
        (23, 6, None),
    ]
    assert rows[0]["promised_delivery_time"] == dt.datetime(2026, 1, 10, 23, 59, 59, tzinfo=dt.UTC)


@pytest.mark.duckdb2
def test_dayparts_begin_at_their_hours(run_table: Run) -> None:
    """An hour has the daypart that began last, in the store's time zone; without a time there is none."""
    orders = [order(1, "2026-01-10T04:59:59Z"), order(2, "2026-01-10T05:00:00Z"), order(3, None)]
    assert [row["daypart"] for row in placed(run_table, orders)] == ["night", "day", None]
    assert [row["daypart"] for row in placed(run_table, orders, daypart_of_hour=[None] * 24)] == [None] * 3


@pytest.mark.duckdb2
def test_a_customers_orders_are_numbered(run_table: Run) -> None:
    """Numbers come from the step; an order without one is neither first nor later."""
    numbers = [{"customer_key": "a", "order_id": n, "customer_order_no": no} for n, no in ((1, 2), (2, 1))]
    rows = placed(run_table, [order(n) for n in (1, 2, 3)], numbers=numbers)
    assert [(row["customer_order_no"], row["is_first_order"]) for row in rows] == [(2, False), (1, True), (None, None)]


def test_deliveries_are_counted(run_table: Run) -> None:
    """Type and status are those of the last record that states them; an order without records has none."""
    deliveries = [
        {"order_id": 1, "delivery_no": 2, "type": "own_delivery", "status": "confirmed"},
        {"order_id": 1, "delivery_no": 1, "type": "drone", "status": "lost"},
        {"order_id": 1, "delivery_no": 3, "type": None, "status": "done"},
    ]
    rows = placed(run_table, [order(1), order(2)], deliveries=deliveries)
    columns = ("delivery_count", "delivery_type", "last_delivery_status")
    assert [tuple(row[name] for name in columns) for row in rows] == [(3, "own_delivery", "done"), (0, None, None)]


@pytest.mark.parametrize(
    ("before", "after"),
    [("America/New_York", "Europe/Berlin"), ("Pacific/Auckland", "Pacific/Honolulu"), ("UTC", "Asia/Tokyo")],
)
def test_a_zone_counts_from_when_it_was_seen(run_table: Run, before: str, after: str) -> None:
    """An order created before the store's record stated another zone keeps the one before; all have it by a setting."""
    seen = [("2026-10-01T00:00:00Z", before), ("2026-10-15T12:00:00Z", after)]
    versions = [
        {"store_id": 1, "version_no": no, "timezone": zone, "first_listed_at": at}
        for no, (at, zone) in enumerate(seen, 1)
    ]
    orders = [order(1, "2026-10-14T20:00:00Z"), order(2, "2026-10-15T20:00:00Z"), order(3, "2026-09-14T20:00:00Z")]
    stores = [BERLIN | {"timezone": after}]
    rows = placed(run_table, orders, stores=stores, versions=versions)
    assert [row["timezone"] for row in rows] == [before, after, before]
    expected = [
        dt.datetime.fromisoformat(str(row["created_at"])).astimezone(clock(zone)).date()
        for row, zone in zip(rows, (before, after, before), strict=True)
    ]
    assert [row["business_date"] for row in rows] == expected
    rows = placed(run_table, orders, stores=stores, versions=versions, business_day_zone_changes="all")
    assert {row["timezone"] for row in rows} == {after}


def test_a_zone_that_is_stated_first_is_no_change(run_table: Run) -> None:
    """A record that named no zone, or an invalid one, before it names one, had that one."""
    for lacking in (None, "Nowhere"):
        seen = [("2026-10-01T00:00:00Z", lacking), ("2026-10-15T12:00:00Z", "Europe/Berlin")]
        versions = [
            {"store_id": 1, "version_no": no, "timezone": zone, "first_listed_at": at}
            for no, (at, zone) in enumerate(seen, 1)
        ]
        (row,) = placed(run_table, [order(1, "2026-10-14T23:00:00Z")], versions=versions)
        assert (row["timezone"], row["timezone_source"]) == ("Europe/Berlin", "store")
