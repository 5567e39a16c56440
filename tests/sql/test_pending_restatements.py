"""What differs from the seals: found order by order and part by part, and only what is not recorded yet."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Given = dict[str, list[dict[str, Any]]]
    Run = Callable[[str, Given], list[dict[str, Any]]]

DAY = "2026-10-31"
PLACE = {"store_id": 5, "business_date": DAY, "sale_class": "counted"}
EVERY = {"business_date": DAY, "is_every_store": True, "close_entry_no": 1}
SEALED = {"close_entry_no": 1, "order_id": 1, **PLACE, "tip": "1", "total_price": "10"}
NOW = {"order_id": 1, **PLACE, "tip": "1", "total_price": "10"}
RESTATED = {"close_entry_no": 1, "order_id": 1, **PLACE, "part": "tip"}


def differences(run_table: Run, **given: Any) -> list[tuple[Any, ...]]:
    """Return order, class, part, sealed, restated, now and difference of each row."""
    seals = {"raw.day_closes": given.get("seals", []), "raw.closed_orders": given["sealed"]}
    now = {"mart.order_reconciliation": given["now"]}
    days = {
        "audit.closed_day_totals": run_table("audit.closed_day_totals", seals),
        "audit.daily_fingerprints": run_table("audit.daily_fingerprints", now),
    }
    rows = run_table("audit.pending_restatements", {**seals, **now, **days, "raw.restated": given.get("restated", [])})
    columns = ("order_id", "sale_class", "part", "sealed", "prior_restated_amount", "now", "difference")
    return [tuple(row[column] for column in columns) for row in rows]


def test_nothing_differs(run_table: Run) -> None:
    """An order that is as it was sealed, and one of an open day, give no row."""
    other = NOW | {"order_id": 2, "business_date": "2026-11-01"}
    assert differences(run_table, seals=[EVERY], sealed=[SEALED], now=[NOW, other]) == []
    assert differences(run_table, sealed=[SEALED], now=[]) == []


@pytest.mark.duckdb2
def test_a_part_that_changed(run_table: Run) -> None:
    """A part that changed, or is stated no more, is a row; the others are none."""
    assert differences(run_table, seals=[EVERY], sealed=[SEALED], now=[NOW | {"tip": "1.0001"}]) == [
        (1, "counted", "tip", 1, 0, Decimal("1.0001"), Decimal("0.0001"))
    ]
    assert differences(run_table, seals=[EVERY], sealed=[SEALED], now=[NOW | {"tip": None}]) == [
        (1, "counted", "tip", 1, 0, 0, -1)
    ]


def test_what_was_restated_is_booked(run_table: Run) -> None:
    """A recorded difference is found no second time; undone, it is found the other way round."""
    recorded = [RESTATED | {"difference": "2"}]
    now = NOW | {"tip": "3"}
    assert differences(run_table, seals=[EVERY], sealed=[SEALED], restated=recorded, now=[now]) == []
    assert differences(run_table, seals=[EVERY], sealed=[SEALED], restated=recorded, now=[NOW]) == [
        (1, "counted", "tip", 1, 2, 1, -2)
    ]


def test_an_order_that_came_or_changed_its_class(run_table: Run) -> None:
    """A late order counts as one; an order in another class leaves one class and enters the other."""
    late = differences(run_table, seals=[EVERY], sealed=[], now=[NOW])
    assert [row[2:] for row in late] == [
        ("orders", 0, 0, 1, 1),
        ("tip", 0, 0, 1, 1),
        ("total_price", 0, 0, 10, 10),
    ]
    turned = differences(run_table, seals=[EVERY], sealed=[SEALED], now=[NOW | {"sale_class": "deleted"}])
    assert [(row[1], row[2], row[6]) for row in turned if row[2] == "total_price"] == [
        ("counted", "total_price", -10),
        ("deleted", "total_price", 10),
    ]


def test_a_reopened_store_is_open(run_table: Run) -> None:
    """A store whose day was reopened has no differences; the seal of the others holds."""
    reopened = {"business_date": DAY, "store_id": 5, "is_every_store": False, "close_entry_no": None}
    assert differences(run_table, seals=[EVERY, reopened], sealed=[SEALED], now=[]) == []
    (row,) = differences(
        run_table,
        seals=[EVERY, reopened],
        sealed=[SEALED | {"store_id": None, "tip": "0", "total_price": None}],
        now=[],
    )
    assert row[2:] == ("orders", 1, 0, 0, -1)


def test_equal_changes_of_two_orders_do_not_hide_each_other(run_table: Run) -> None:
    """Two orders of a day that changed alike are both found."""
    sealed = [SEALED | {"order_id": each} for each in (1, 2)]
    now = [NOW | {"order_id": each, "line_amount": "5.25"} for each in (1, 2)]
    assert [row[:3] for row in differences(run_table, seals=[EVERY], sealed=sealed, now=now)] == [
        (1, "counted", "line_amount"),
        (2, "counted", "line_amount"),
    ]
