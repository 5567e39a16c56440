"""mart.calendar: one row per store and day from its first to its last business day with orders."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

LOAD = {"load_id": "l", "kind": "orders", "last_observed_at": "2026-01-04 23:30:00+00"}


def day(date: str, **more: Any) -> dict[str, Any]:
    """Return a row of mart.daily_store_sales: store 1, counted, one order."""
    return {
        "store_id": 1,
        "business_date": date,
        "sale_class": "counted",
        "store_name": "Nord",
        "currency": "EUR",
        "order_count": 1,
        "priced_order_count": 1,
        "total_price": "1.5",
    } | more


def calendar(run_table: Run, sales: list[dict[str, Any]], **given: Any) -> dict[str, dict[str, Any]]:
    """Return the rows of store 1 by date."""
    tables = {"mart.daily_store_sales": sales, "audit.loads": [LOAD]} | {
        name.replace("__", "."): rows for name, rows in given.items()
    }
    return {str(row["business_date"]): row for row in run_table("mart.calendar", tables)}


@pytest.mark.duckdb2
def test_days_without_orders_have_a_row(run_table: Run) -> None:
    """Between the first and the last day every day has a row; orders of every class, and counted ones, are added up."""
    rows = calendar(run_table, [day("2026-01-01"), day("2026-01-03"), day("2026-01-03", sale_class="deleted")])
    assert {
        date: (row["order_count"], row["counted_order_count"], row["counted_total_price"]) for date, row in rows.items()
    } == {
        "2026-01-01": (1, 1, Decimal("1.5")),
        "2026-01-02": (0, 0, None),
        "2026-01-03": (2, 1, Decimal("1.5")),
    }
    assert (rows["2026-01-02"]["weekday"], rows["2026-01-02"]["store_name"]) == (5, "Nord")
    assert rows["2026-01-02"]["week_start_date"] == dt.date(2025, 12, 29)


def test_a_sum_is_of_the_counted_orders_that_state_a_total(run_table: Run) -> None:
    """Of three counted orders two state one: the mean is of these; of a day without orders none do."""
    sales = [day("2026-01-01", order_count=3, priced_order_count=2, total_price="5"), day("2026-01-03")]
    rows = calendar(run_table, [*sales, day("2026-01-01", sale_class="deleted", priced_order_count=7)])
    found = [
        (row["counted_order_count"], row["priced_order_count"], row["counted_total_price"]) for row in rows.values()
    ]
    assert found == [(3, 2, 5), (0, 0, None), (1, 1, Decimal("1.5"))]


def test_whether_a_day_is_over_is_the_stores(run_table: Run) -> None:
    """At 23:30 UTC on 4 January the day goes on in UTC, is over in Berlin, and later orders have no row."""
    sales = [day("2026-01-03"), day("2026-01-04"), day("2026-01-09")]
    over = {date: row["is_day_over"] for date, row in calendar(run_table, sales).items()}
    assert over == {"2026-01-03": True, "2026-01-04": False}
    berlin = [{"store_id": 1, "timezone": "Europe/Berlin"}]
    over = {date: row["is_day_over"] for date, row in calendar(run_table, sales, core__stores=berlin).items()}
    assert over == {"2026-01-03": True, "2026-01-04": True, "2026-01-05": False}
    early = [{"business_day_start": "05:00"}]
    over = {
        date: row["is_day_over"]
        for date, row in calendar(run_table, sales, core__stores=berlin, raw__settings=early).items()
    }
    assert over == {"2026-01-03": True, "2026-01-04": False}


def test_wrong_dates_make_no_millions_of_rows(run_table: Run) -> None:
    """Dates far off are cut to twenty years before the last observation; without one, to twenty after the first."""
    rows = calendar(run_table, [day("0001-01-01"), day("9999-12-31")])
    assert (min(rows), max(rows)) == ("2006-01-04", "2026-01-04")
    rows = calendar(run_table, [day("2020-01-01"), day("9999-12-31")], audit__loads=[])
    assert (min(rows), max(rows)) == ("2020-01-01", "2040-01-01")
    assert rows["2020-01-01"]["is_day_over"] is None


def test_closes_and_coverage(run_table: Run) -> None:
    """A day is closed for every store, unless the store's own entry says otherwise; coverage is joined by day."""
    closes = [
        {"business_date": "2026-01-01", "is_every_store": True, "close_entry_no": 1},
        {"business_date": "2026-01-02", "is_every_store": True, "close_entry_no": 1},
        {"business_date": "2026-01-02", "store_id": 1, "is_every_store": False, "close_entry_no": None},
        {"business_date": "2026-01-03", "store_id": 1, "is_every_store": False, "close_entry_no": 2},
        {"business_date": "2026-01-04", "store_id": 2, "is_every_store": False, "close_entry_no": 3},
    ]
    coverage = [{"store_id": 1, "business_date": "2026-01-02", "stale_count": 3, "completeness": 0.5}]
    sales = [day("2026-01-01"), day("2026-01-04")]
    rows = calendar(run_table, sales, raw__day_closes=closes, audit__coverage=coverage)
    assert [row["is_closed"] for row in rows.values()] == [True, False, True, False]
    assert [(row["stale_count"], row["completeness"]) for row in rows.values()][:2] == [(0, None), (3, 0.5)]
