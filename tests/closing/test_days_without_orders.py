"""sql/finance/days_without_orders.sql: on which days of a period a store usually has orders, and has none."""

from __future__ import annotations

import datetime as dt

import duckdb
import pytest

from pipelines.finance.released import finance_sql

DAY = dt.date(2026, 10, 26)


def found(
    *weeks: int, store_id: int | None = None, opened: dt.date | None = None, closed: dt.date | None = None
) -> list[tuple[dt.date, int]]:
    """Return the days without orders of a period of DAY alone; store 1 had orders so many weeks before."""
    with duckdb.connect(":memory:") as con:
        con.execute("create schema mart; create table mart.daily_store_sales (store_id bigint, business_date date)")
        for week in weeks:
            con.execute("insert into mart.daily_store_sales values (1, ?)", [DAY - dt.timedelta(weeks=week)])
        con.execute("insert into mart.daily_store_sales values (null, ?), (1, null)", [DAY])
        con.execute("create schema ref; create table ref.stores (store_id bigint, opened_on date, closed_on date)")
        con.execute("insert into ref.stores values (1, ?, ?), (2, ?, ?)", [opened, closed, DAY, DAY])
        period = {"first_day": DAY, "last_day": DAY, "store_id": store_id}
        return con.execute(finance_sql("days_without_orders"), period).fetchall()


@pytest.mark.parametrize(
    ("weeks", "is_missed"),
    [
        ((1, 2, 3, 4), True),
        ((1, 2, 3), False),  # four must be known
        ((1, 2, 4), True),  # three of four
        ((1, 4), False),
        ((1, 2, 3, 4, 5, 8), True),  # six of eight
        ((1, 2, 3, 4, 8), False),
        ((4, 5, 6, 7, 8, 9, 10, 11), False),  # of the eight weeks before alone
        ((1, 2, 3, 4, 5, 6, 9), True),
        ((0, 1, 2, 3, 4), False),  # it has one
    ],
)
def test_a_day_is_missed_where_three_quarters_of_its_weekdays_had_orders(
    weeks: tuple[int, ...], *, is_missed: bool
) -> None:
    """Of the eight same weekdays before, from the store's first day on, at least four."""
    assert found(*weeks) == [(DAY, 1)] * is_missed


def test_of_one_store_alone() -> None:
    """Another store's days are not those that are asked for."""
    assert found(1, 2, 3, 4, store_id=1) == [(DAY, 1)]
    assert found(1, 2, 3, 4, store_id=2) == []


@pytest.mark.parametrize(
    ("opened", "closed", "is_missed"),
    [
        (None, DAY - dt.timedelta(days=1), False),
        (None, DAY, True),  # its last day may have had orders
        (DAY - dt.timedelta(weeks=4), None, True),
        (DAY - dt.timedelta(weeks=3), None, False),  # four must be known since it opened
        (DAY + dt.timedelta(days=1), None, False),
    ],
)
def test_a_store_that_was_not_open_misses_no_day(
    opened: dt.date | None, closed: dt.date | None, *, is_missed: bool
) -> None:
    """By the file of [reference] stores: after the day that it closed on, and before it opened."""
    assert found(1, 2, 3, 4, opened=opened, closed=closed) == [(DAY, 1)] * is_missed
