"""audit.inactive_periods: stores without orders on weekdays that usually have some."""

from __future__ import annotations

import datetime as dt
import math
import random
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.sql.conftest import Run

    Row = dict[str, Any]

START = dt.date(2026, 8, 1)
DAYS = 90
# store → usual orders a day; the last is closed on Mondays
STORES = {1: 0.7, 2: 2.0, 3: 4.0, 4: 7.0, 5: 9.0, 6: 12.0, 7: 15.0, 8: 25.0, 9: 40.0, 10: 90.0, 11: 20.0, 12: 30.0}
WEEK = (0.7, 0.7, 0.8, 0.9, 1.3, 1.6, 1.2)


def _poisson(chance: random.Random, mean: float) -> int:
    if mean > 50:
        return max(0, round(chance.gauss(mean, math.sqrt(mean))))
    limit, product, count = math.exp(-mean), chance.random(), 0
    while product > limit:
        product *= chance.random()
        count += 1
    return count


def simulated(seed: int, silent: set[tuple[int, int]] = frozenset()) -> Iterator[Row]:  # type: ignore[assignment]
    """Yield the sales of ninety days; `silent` are (store, day) without an order."""
    chance = random.Random(seed)
    for store, mean in STORES.items():
        for day in range(DAYS):
            date = START + dt.timedelta(days=day)
            orders = _poisson(chance, mean * WEEK[date.weekday()] * chance.lognormvariate(0, 0.15))
            if store == 12 and date.weekday() == 0:
                orders = 0
            if orders and (store, day) not in silent:
                yield {"store_id": store, "business_date": date, "sale_class": "counted", "order_count": orders}


def watched(first: int = 0, last: int = DAYS) -> Row:
    """Return a live load that was observed from one day to another."""
    at = [dt.datetime.combine(START, dt.time(3), dt.UTC) + dt.timedelta(days=day) for day in (first, last)]
    return {
        "load_id": "a",
        "kind": "orders",
        "source": "live",
        "is_backfill": False,
        "first_observed_at": at[0],
        "last_observed_at": at[1],
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in (2, 3))])
def test_ninety_days_have_at_most_one_false_alarm(run_table: Run, seed: int) -> None:
    """Stores of all sizes, one closed on Mondays, raise at most one alarm in ninety simulated days."""
    rows = run_table(
        "audit.inactive_periods", {"mart.daily_store_sales": list(simulated(seed)), "audit.loads": [watched()]}
    )
    assert len(rows) <= 1


def test_planted_silences_are_found(run_table: Run) -> None:
    """A silent day of a busy store, four of a small one, and one that goes on to the end, are each one row."""
    silent = {(9, 60), (10, 75), *((3, day) for day in range(70, 75)), *((8, day) for day in range(88, 90))}
    rows = run_table(
        "audit.inactive_periods", {"mart.daily_store_sales": list(simulated(4, silent)), "audit.loads": [watched()]}
    )
    found = {
        (row["store_id"], (row["inactive_from_date"] - START).days, row["day_count"], row["is_ongoing"]) for row in rows
    }
    assert {(9, 60, 1, False), (10, 75, 1, False), (3, 70, 5, False), (8, 88, 2, True)} <= found
    assert len(found) <= 5


@pytest.mark.slow
@pytest.mark.duckdb2
def test_without_training_and_in_archives_nobody_is_alarmed(run_table: Run) -> None:
    """Three weeks are too few to know a weekday by; a day before the first live load is not watched."""
    sales = list(simulated(5, {(10, 20), (10, 50)}))
    for loads in ([watched(0, 25)], [watched(60, 90)], [watched() | {"source": "archive"}], []):
        rows = run_table("audit.inactive_periods", {"mart.daily_store_sales": sales, "audit.loads": loads})
        assert (10, 20) not in {(row["store_id"], (row["inactive_from_date"] - START).days) for row in rows}
        assert (10, 50) not in {(row["store_id"], (row["inactive_from_date"] - START).days) for row in rows}


@pytest.mark.parametrize(
    ("silent", "first", "last", "found"),
    [
        (28, 0, 40, [(28, 28, 1, False, 16)]),  # four such weekdays before it, and not the day itself
        (27, 0, 40, []),  # three
        (28, 27, 40, [(28, 28, 1, False, 16)]),  # watched from the day after the first load
        (28, 28, 40, []),
        (35, 0, 36, [(35, 35, 1, True, 16)]),  # to the day before the last
        (35, 0, 35, []),
    ],
)
def test_what_a_day_usually_has(run_table: Run, silent: int, first: int, last: int, found: list[Any]) -> None:
    """Sixteen orders every day but one: the average of the same weekdays before it, of at least four, all watched."""
    sales = [
        {
            "store_id": 1,
            "business_date": START + dt.timedelta(days=day),
            "sale_class": "counted",
            "order_count": 16,
        }
        for day in range(last)
        if day != silent
    ]
    rows = run_table("audit.inactive_periods", {"mart.daily_store_sales": sales, "audit.loads": [watched(first, last)]})
    assert [
        (
            (row["inactive_from_date"] - START).days,
            (row["inactive_to_date"] - START).days,
            row["day_count"],
            row["is_ongoing"],
            row["expected_order_count"],
        )
        for row in rows
    ] == found
    assert all((row["last_order_date"] - START).days == silent - 1 for row in rows)
