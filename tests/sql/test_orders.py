"""core.orders: one row per order, as its latest version says."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

LINEAGE: dict[str, Any] = {
    "customer_key": "k1",
    "is_deleted": False,
    "_fetched_at": "2026-11-20T10:00:00Z",
    "_load_id": "L1",
    "_payload_sha256": "aa",
}


def order(order_id: int, **document: Any) -> dict[str, Any]:
    """Return a row of raw.latest_orders."""
    return {"order_id": order_id, "document": {"id": order_id, **document}, **LINEAGE}


@pytest.mark.duckdb2
def test_money_is_exact(run_table: Run) -> None:
    """Money keeps every digit that the source gave, exponents too."""
    rows = run_table(
        "core.orders",
        {
            "raw.latest_orders": [
                order(1, subtotal_price="99999999999999.9999", tip="0.1", discount="-3", total_price="1.25e1")
            ]
        },
    )
    assert rows[0]["subtotal_price"] == Decimal("99999999999999.9999")
    assert rows[0]["tip"] == Decimal("0.1")
    assert rows[0]["discount"] == Decimal(-3)
    assert rows[0]["total_price"] == Decimal("12.5")


def test_times_are_utc(run_table: Run) -> None:
    """A time without an offset is UTC; with one it is the same instant in UTC."""
    rows = run_table(
        "core.orders",
        {
            "raw.latest_orders": [
                order(1, created_at="2026-11-20T10:00:00"),
                order(2, created_at="2026-11-20T10:00:00.25Z"),
                order(3, created_at="2026-11-20T10:00:00+02:00", promised_pick_up_time=None),
            ]
        },
    )
    start = dt.datetime(2026, 11, 20, 10, tzinfo=dt.UTC)
    assert [row["created_at"] for row in rows] == [
        start,
        start + dt.timedelta(milliseconds=250),
        start - dt.timedelta(hours=2),
    ]
    assert rows[2]["promised_pick_up_time"] is None


def test_absent_is_null(run_table: Run) -> None:
    """A document with nothing but its id is a row, its fields null."""
    rows = run_table("core.orders", {"raw.latest_orders": [order(7)]})
    filled = {name for name, value in rows[0].items() if value is not None}
    assert filled == {"order_id", *LINEAGE}


def test_notes_only_where_opened(run_table: Run) -> None:
    """The note is a column of its own where the document has it; has_dispatch_note is there in any case."""
    rows = run_table(
        "core.orders",
        {
            "raw.latest_orders": [
                order(1, has_dispatch_note=True),
                order(2, has_dispatch_note=True, dispatch_note="ring twice"),
            ]
        },
    )
    assert [(row["has_dispatch_note"], row["dispatch_note"]) for row in rows] == [
        (True, None),
        (True, "ring twice"),
    ]


BOUNDS = {
    "business_day_from": dt.datetime(1970, 1, 1, tzinfo=dt.UTC),
    "business_day_until": dt.datetime(2101, 1, 1, tzinfo=dt.UTC),
}


@pytest.mark.parametrize(
    ("time", "counts"),
    [
        ("0001-01-01T00:00:00Z", False),
        ("0001-01-01T00:00:00", False),
        ("1899-12-30T00:00:00Z", False),
        ("1969-12-31T23:59:59.999999Z", False),
        ("1970-01-01T00:30:00+01:00", False),
        ("1970-01-01T00:00:00Z", True),
        ("2100-12-31T23:59:59.999999Z", True),
        ("2100-12-31T23:00:00-02:00", False),
        ("2101-01-01T00:00:00Z", False),
        ("9999-12-31T23:59:59.9999999Z", False),
    ],
)
@pytest.mark.parametrize("field", ["created_at", "requested_time", "promised_delivery_time", "promised_pick_up_time"])
def test_a_time_that_cannot_be_is_not_stated(run_table: Run, field: str, time: str, counts: bool) -> None:
    """Outside the years of the settings a time is null in its column, and stands as sent beside it."""
    given = {"raw.latest_orders": [order(1, **{field: time})], "raw.settings": [BOUNDS]}
    (row,) = run_table("core.orders", given)
    assert (row[field] is not None, row["impossible_times"]) == (counts, None if counts else [f"{field}: {time}"])
