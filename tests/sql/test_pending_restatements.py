"""audit.pending_restatements: changes to closed days by order and measure, unless already recorded."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

DAY = "2026-10-31"
PLACE = {"store_id": 5, "business_date": DAY, "sale_class": "counted"}
EVERY = {"business_date": DAY, "is_every_store": True, "close_entry_no": 1}
CLOSED = {"close_entry_no": 1, "order_id": 1, **PLACE, "tip": "1", "total_price": "10"}
NOW = {"order_id": 1, **PLACE, "tip": "1", "total_price": "10"}
RESTATED = {"close_entry_no": 1, "order_id": 1, **PLACE, "measure": "tip"}


def differences(run_table: Run, **given: Any) -> list[tuple[Any, ...]]:
    """Return order, sale class, measure and the four amounts of each row."""
    closes, closed = {"raw.day_closes": given.get("closes", [])}, {"raw.closed_orders": given["closed"]}
    now, restated = {"mart.order_reconciliation": given["now"]}, {"raw.restated": given.get("restated", [])}
    days = {
        "workings.closed_day_totals": run_table("workings.closed_day_totals", closes | closed),
        "workings.daily_fingerprints": run_table("workings.daily_fingerprints", now),
    }
    changed = {"workings.changed_closed_days": run_table("workings.changed_closed_days", closes | restated | days)}
    rows = run_table("audit.pending_restatements", closed | now | changed | restated)
    columns = (
        "order_id",
        "sale_class",
        "measure",
        "closed_amount",
        "prior_restated_amount",
        "current_amount",
        "restatement_amount",
    )
    return [tuple(row[column] for column in columns) for row in rows]


def test_nothing_differs(run_table: Run) -> None:
    """An unchanged order and an order of an unclosed day give no row."""
    other = NOW | {"order_id": 2, "business_date": "2026-11-01"}
    assert differences(run_table, closes=[EVERY], closed=[CLOSED], now=[NOW, other]) == []
    assert differences(run_table, closed=[CLOSED], now=[]) == []


@pytest.mark.duckdb2
def test_a_changed_measure_is_one_row(run_table: Run) -> None:
    """A measure that changed or became null is a row; the others are not."""
    assert differences(run_table, closes=[EVERY], closed=[CLOSED], now=[NOW | {"tip": "1.0001"}]) == [
        (1, "counted", "tip", 1, 0, Decimal("1.0001"), Decimal("0.0001"))
    ]
    assert differences(run_table, closes=[EVERY], closed=[CLOSED], now=[NOW | {"tip": None}]) == [
        (1, "counted", "tip", 1, 0, 0, -1)
    ]


def test_recorded_restatements_are_booked(run_table: Run) -> None:
    """A recorded change is not found again; its reversal is."""
    recorded = [RESTATED | {"restatement_amount": "2"}]
    now = NOW | {"tip": "3"}
    assert differences(run_table, closes=[EVERY], closed=[CLOSED], restated=recorded, now=[now]) == []
    assert differences(run_table, closes=[EVERY], closed=[CLOSED], restated=recorded, now=[NOW]) == [
        (1, "counted", "tip", 1, 2, 1, -2)
    ]


def test_a_new_order_or_sale_class_changes_the_order_count(run_table: Run) -> None:
    """A late-arriving order counts as one; a changed sale class gives rows in both classes."""
    late = differences(run_table, closes=[EVERY], closed=[], now=[NOW])
    assert [row[2:] for row in late] == [
        ("order_count", 0, 0, 1, 1),
        ("tip", 0, 0, 1, 1),
        ("total_price", 0, 0, 10, 10),
    ]
    reclassified = differences(run_table, closes=[EVERY], closed=[CLOSED], now=[NOW | {"sale_class": "deleted"}])
    assert [(row[1], row[2], row[6]) for row in reclassified if row[2] == "total_price"] == [
        ("counted", "total_price", -10),
        ("deleted", "total_price", 10),
    ]


def test_a_reopened_store_has_no_rows(run_table: Run) -> None:
    """A reopened store-day has no rows; the close of the other stores stays active."""
    reopened = {"business_date": DAY, "store_id": 5, "is_every_store": False, "close_entry_no": None}
    assert differences(run_table, closes=[EVERY, reopened], closed=[CLOSED], now=[]) == []
    (row,) = differences(
        run_table,
        closes=[EVERY, reopened],
        closed=[CLOSED | {"store_id": None, "tip": "0", "total_price": None}],
        now=[],
    )
    assert row[2:] == ("order_count", 1, 0, 0, -1)


def test_equal_changes_of_two_orders_do_not_hide_each_other(run_table: Run) -> None:
    """Two orders of a day with the same change are both found."""
    closed = [CLOSED | {"order_id": each} for each in (1, 2)]
    now = [NOW | {"order_id": each, "line_amount": "5.25"} for each in (1, 2)]
    assert [row[:3] for row in differences(run_table, closes=[EVERY], closed=closed, now=now)] == [
        (1, "counted", "line_amount"),
        (2, "counted", "line_amount"),
    ]


def test_another_currency_takes_the_amount_out_and_in(run_table: Run) -> None:
    """Equal amounts in another currency differ by all of it in both; what was restated in the old goes out with it."""
    euros = CLOSED | {"currency": "EUR"}
    restated = [RESTATED | {"currency": "EUR", "restatement_amount": "2"}]
    now = NOW | {"currency": "PEN", "tip": "3", "total_price": "10"}
    found = differences(run_table, closes=[EVERY], closed=[euros], restated=restated, now=[now])
    assert [row[2:] for row in found] == [
        ("order_count", 1, 0, 0, -1),
        ("order_count", 0, 0, 1, 1),
        ("tip", 1, 2, 0, -3),
        ("tip", 0, 0, 3, 3),
        ("total_price", 10, 0, 0, -10),
        ("total_price", 0, 0, 10, 10),
    ]
