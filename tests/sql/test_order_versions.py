"""core.order_versions: one row per version of an order, a run of observations of the same content."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

PRICES = {
    "subtotal_price": "1",
    "delivery_price": "2",
    "tip": "3",
    "discount": "4",
    "loyalty_discount": "5",
    "total_price": "6",
}


def at(hour: int) -> str:
    """Return an instant."""
    return f"2026-11-20T{hour:02d}:00:00Z"


def instant(hour: int) -> dt.datetime:
    """Return the same as a value."""
    return dt.datetime(2026, 11, 20, hour, tzinfo=dt.UTC)


def version(order_id: int, version_no: int, hours: tuple[int, int], **document: Any) -> dict[str, Any]:
    """Return a row of raw.order_versions."""
    return {
        "order_id": order_id,
        "version_no": version_no,
        "first_seen_at": at(hours[0]),
        "last_seen_at": at(hours[1]),
        "document": {"id": order_id, **document},
        "_load_id": f"L{version_no}",
        "_payload_sha256": "aa",
    }


@pytest.mark.duckdb2
def test_a_row_for_each_version(run_table: Run) -> None:
    """Each version has its status, prices and deliveries, and the names of changed fields."""
    rows = run_table(
        "core.order_versions",
        {
            "raw.order_versions": [
                version(
                    7,
                    1,
                    (1, 2),
                    status="new",
                    total_price="10",
                    deliveries=[{"id": 3, "status": "sent", "type": "own"}],
                ),
                version(7, 2, (4, 5), status="done", total_price="9.50"),
            ],
            "raw.order_edits": [{"order_id": 7, "version_no": 2, "lines_version_no": 2}],
            "core.order_changes": [
                {"order_id": 7, "version_no": 2, "field": "total_price"},
                {"order_id": 7, "version_no": 2, "field": "status"},
            ],
        },
    )
    assert [(row["version_no"], row["lines_version_no"], row["changed_fields"]) for row in rows] == [
        (1, 1, []),
        (2, 2, ["status", "total_price"]),
    ]
    assert [(row["status"], row["total_price"]) for row in rows] == [("new", Decimal(10)), ("done", Decimal("9.5"))]
    assert [(row["delivery_ids"], row["delivery_statuses"]) for row in rows] == [([3], ["sent"]), (None, None)]
    assert [row["delivery_types"] for row in rows] == [["own"], None]
    assert [(row["first_seen_at"], row["last_seen_at"]) for row in rows] == [
        (instant(1), instant(2)),
        (instant(4), instant(5)),
    ]


def test_stored_versions_stay(run_table: Run) -> None:
    """A version that the table has stays as it is; one that was seen again was last seen then."""
    stored = {"order_id": 7, "lines_version_no": 1, "changed_fields": [], "_load_id": "L1", "_payload_sha256": "aa"}
    rows = run_table(
        "core.order_versions",
        {
            "core.order_versions": [
                stored | {"version_no": 1, "last_seen_at": at(1)} | PRICES,
                stored | {"version_no": 2, "last_seen_at": at(2)},
            ],
            "raw.order_sightings": [{"order_id": 7, "version_no": 2, "last_seen_at": at(3)}],
            "raw.order_versions": [version(7, 3, (4, 4))],
        },
    )
    assert [(row["version_no"], row["last_seen_at"].hour) for row in rows] == [(1, 1), (2, 3), (3, 4)]
    assert {name: rows[0][name] for name in PRICES} == {name: Decimal(price) for name, price in PRICES.items()}
