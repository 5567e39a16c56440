"""audit.coverage: what was announced and what became of it, by store and business day."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

DAY = dt.date(2026, 10, 31)
COUNTS = (
    "id_count",
    "notified_count",
    "known_count",
    "fetched_count",
    "unchanged_count",
    "not_found_count",
    "failed_count",
    "quarantined_count",
    "unrequested_count",
    "stale_count",
)


def state(id_: int, verdict: str, hour: int | None = 3, *, held: bool = False) -> dict[str, Any]:
    """Return a row of raw.states of an order, last answered at that hour, of which there is a document or not."""
    at = None if hour is None else f"2026-11-01T{hour:02}:00:00Z"
    sha256 = "a" * 64 if held else None
    return {"kind": "orders", "id": id_, "last_verdict": verdict, "last_checked_at": at, "_payload_sha256": sha256}


def notification(id_: int, hour: int, kind: str = "orders") -> dict[str, Any]:
    """Return a row of raw.hints, received at that hour."""
    return {"seq": id_, "kind": kind, "id": id_, "received_at": f"2026-11-01T{hour:02}:30:00Z"}


def order(order_id: int) -> dict[str, Any]:
    """Return a row of mart.orders, last asked for at three."""
    at = "2026-11-01T03:00:00Z"
    return {"order_id": order_id, "store_id": 7, "business_date": DAY, "last_checked_at": at}


def checks(store_id: int | None, **counts: int) -> dict[str, Any]:
    """Return a row of workings.daily_fetch_outcomes of that day."""
    zero = dict.fromkeys(
        (
            "known_count",
            "fetched_count",
            "unchanged_count",
            "archive_count",
            "not_found_count",
            "failed_count",
            "quarantined_count",
        ),
        0,
    )
    return {"store_id": store_id, "business_date": DAY, **zero, **counts}


@pytest.mark.duckdb2
def test_each_id_stands_once(run_table: Run) -> None:
    """Known ids stand under their store and day, by what came last; ids never known under neither."""
    rows = run_table(
        "audit.coverage",
        {
            "workings.daily_fetch_outcomes": [
                checks(7, known_count=4, fetched_count=2, unchanged_count=1, archive_count=1, not_found_count=1)
            ],
            "raw.states": [
                state(1, "accepted", held=True),
                state(2, "unchanged", held=True),
                state(4, "quarantined"),
                state(5, "failed", hour=None),
                {**state(1, "missing"), "kind": "menus"},
            ],
            "raw.hints": [
                notification(1, 2),
                notification(2, 2),
                notification(2, 4),
                notification(5, 2),
                notification(9, 2),
                notification(1, 5, "menus"),
            ],
            "mart.orders": [order(1), order(2)],
        },
    )
    assert [(row["store_id"], *(row[name] for name in COUNTS)) for row in rows] == [
        (7, 4, 2, 4, 2, 1, 1, 0, 0, 0, 1),
        (None, 3, 2, 0, 0, 0, 0, 1, 1, 1, 2),
    ]
    assert [row["archive_count"] for row in rows] == [1, 0]
    assert {(row["completeness_basis"], row["completeness"]) for row in rows} == {("unknown", None)}


def test_a_control_total_is_a_denominator(run_table: Run) -> None:
    """The total that counts most classes measures completeness; a day of which nothing is held is a row too."""
    total = {"business_date": DAY, "amount_field": "tip", "tie_out_status": "variance"}
    rows = run_table(
        "audit.coverage",
        {
            "workings.daily_fetch_outcomes": [checks(7, known_count=2, fetched_count=2)],
            "audit.control_totals": [
                {**total, "store_id": 7, "sale_classes": "counted", "control_order_count": 1, "actual_order_count": 1},
                {
                    **total,
                    "store_id": 7,
                    "sale_classes": "counted+deleted",
                    "control_order_count": 4,
                    "actual_order_count": 2,
                },
                {**total, "store_id": 8, "sale_classes": "counted", "control_order_count": 3, "actual_order_count": 0},
                {
                    **total,
                    "store_id": 9,
                    "sale_classes": "counted",
                    "control_order_count": 3,
                    "tie_out_status": "unknown",
                },
            ],
        },
    )
    assert [(r["store_id"], r["known_count"], r["completeness_basis"], r["completeness"]) for r in rows] == [
        (7, 2, "control_total", 0.5),
        (8, 0, "control_total", 0.0),
    ]
