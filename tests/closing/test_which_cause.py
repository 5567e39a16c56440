"""Which cause a restatement has: each rule of sql/finance/restatement_causes.sql, at its limits and before the next."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest

from pipelines.finance.released import finance_sql

if TYPE_CHECKING:
    from collections.abc import Iterator

KNOWN_TO = dt.datetime(2026, 11, 7, tzinfo=dt.UTC)  # by when the close could have seen a version
BEFORE, AFTER = KNOWN_TO - dt.timedelta(seconds=1), KNOWN_TO + dt.timedelta(seconds=1)
DAY, OTHER_DAY = dt.date(2026, 10, 31), dt.date(2026, 11, 1)
PENDING = {
    "order_id": 1,
    "close_entry_no": 2,
    "store_id": 1,
    "business_date": DAY,
    "sale_class": "counted",
    "measure": "tip",
    **dict.fromkeys(("closed_amount", "prior_restated_amount", "current_amount", "restatement_amount"), 1),
    "currency": "EUR",
    "platform": "phone",
}
SUMS = {"order_id": 1, "currency": "EUR", "platform": "phone"}
PARTS = {
    "order_id": 1,
    "total_rule": "observed/unrounded",
    "total_parts": ["tip"],
    "total_part_amounts": [1],
    "total_residual": 0,
    "break_content": "as it is",
}
CIRCUMSTANCES = {"business_day_hash": "days", "sales_hash": "sales", "rules_hash": "rules"}
ENTRY = {"entry_no": 2, "known_to": KNOWN_TO, **CIRCUMSTANCES}
# As booked: the same document in the same place.
ORDER = {
    "order_id": 1,
    "close_entry_no": 2,
    "store_id": 1,
    "business_date": DAY,
    "sale_class": "counted",
    "timezone": "Europe/Berlin",
    "is_deleted": False,
    "payload_sha256": "same",
    "fetched_at": BEFORE,
    "changed_at": BEFORE,
    "has_changed": True,
    "is_of_lines_alone": False,
    "is_between_closed_days": False,
    "is_between_currencies": False,
    "is_between_platforms": False,
    "store_changed_at": None,
    "was_known_at_close": True,
    "was_quarantined_at_close": False,
    "was_quarantined_when_booked": False,
}
BOOKED = {
    **{name: ORDER[name] for name in ("order_id", "store_id", "business_date", "sale_class", "timezone")},
    "payload_sha256": "same",
    **CIRCUMSTANCES,
}
NEW = {"payload_sha256": "new"}
NOT_BOOKED: dict[str, Any] = {"order_id": 9}
QUARANTINED = {"was_quarantined_at_close": True, "was_quarantined_when_booked": True}
MOVED = {"store_id": 2, "business_date": OTHER_DAY}
TIMES = ("known_to", "fetched_at", "changed_at", "store_changed_at")


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """Give an empty database."""
    with duckdb.connect(":memory:") as con:
        con.execute("set timezone = 'UTC'; create schema audit; create schema mart")
        yield con


def cause(
    con: duckdb.DuckDBPyConnection, order: dict[str, Any], booked: dict[str, Any], present: dict[str, Any]
) -> str:
    """Return the cause of one pending restatement of an order that differs so from what was booked."""
    given = {
        "audit.pending_restatements": PENDING,
        "mart.order_reconciliation": SUMS,
        "temp.order_total_parts": PARTS,
        "memory.entries": ENTRY,
        "memory.present": CIRCUMSTANCES | present,
        "temp.restated_orders": ORDER | order,
        "temp.last_booked": BOOKED | booked,
    }
    for name, row in given.items():
        types = {"store_changed_at": pa.timestamp("us", tz="UTC")}
        con.from_arrow(pa.table({key: pa.array([value], types.get(key)) for key, value in row.items()})).create("given")
        con.execute(
            f"create or replace {'temp ' * name.startswith('temp')}table {name} as from given; drop table given"
        )
    (row,) = con.execute(finance_sql("restatement_causes"), {"last_restatement_no": 7, "detected_at": AFTER}).fetchall()
    found = dict(zip([column[0] for column in con.description or ()], row, strict=True))
    assert found["restatement_no"] == 8
    return str(found["cause"])


@pytest.mark.parametrize(
    ("order", "present", "expected"),
    [
        (QUARANTINED | {"changed_at": AFTER}, {}, "released_from_quarantine"),
        (QUARANTINED | {"changed_at": AFTER, "was_known_at_close": False}, {}, "released_from_quarantine"),
        (QUARANTINED | {"changed_at": KNOWN_TO}, {}, "business_date_changed"),
        ({"changed_at": AFTER}, {}, "business_date_changed"),
        ({"was_known_at_close": False, "changed_at": AFTER}, {}, "late_arriving"),
        ({"was_known_at_close": False}, {"business_day_hash": "new"}, "late_arriving"),
        ({"changed_at": KNOWN_TO}, {"business_day_hash": "new"}, "setting_changed"),
        ({"changed_at": AFTER}, {"business_day_hash": "new"}, "business_date_changed"),
        ({"store_changed_at": AFTER}, {"business_day_hash": "new"}, "setting_changed"),
        ({"store_changed_at": AFTER}, {}, "moved_to_another_store"),
        ({"store_changed_at": KNOWN_TO}, {}, "business_date_changed"),
        ({"is_deleted": True, "sale_class": "deleted"}, {}, "business_date_changed"),
    ],
)
def test_an_order_that_no_entry_has(con: Any, order: dict[str, Any], present: dict[str, Any], expected: str) -> None:
    """What came after the close's release explains it; at that very time it was known already."""
    assert cause(con, order, NOT_BOOKED, present) == expected


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ({"is_deleted": True, "sale_class": "deleted"} | QUARANTINED, "deleted"),
        (QUARANTINED | MOVED, "released_from_quarantine"),
        ({"business_date": None} | {"store_id": 2}, "lost_its_date"),
        (MOVED, "moved_to_another_store"),
        (MOVED | {"is_between_closed_days": True, "has_changed": False}, "moved_to_another_store"),
        (MOVED | {"is_between_closed_days": True}, "source_changed"),
        ({"store_id": None}, "moved_to_another_store"),
        ({"business_date": OTHER_DAY}, "business_date_changed"),
        ({"business_date": OTHER_DAY, "is_between_closed_days": True, "has_changed": False}, "business_date_changed"),
        ({"business_date": OTHER_DAY, "is_between_closed_days": True}, "source_changed"),
        ({"has_changed": False, "is_between_currencies": True}, "currency_changed"),
        ({"is_between_currencies": True}, "source_changed"),
        ({"has_changed": False, "is_between_platforms": True}, "platform_changed"),
        ({"is_between_platforms": True}, "source_changed"),
        ({"has_changed": False, "sale_class": "excluded"}, "sale_class_changed"),
        ({"sale_class": "excluded"}, "source_changed"),
        ({}, "source_changed"),
    ],
)
def test_an_order_with_another_document(con: Any, order: dict[str, Any], expected: str) -> None:
    """Where it went decides before what it came to; between closed days only if no amount changed besides."""
    assert cause(con, NEW | order, {}, {}) == expected
    assert cause(con, NEW | order, {}, {"business_day_hash": "new", "sales_hash": "new"}) == expected


def test_what_was_unknown_when_booked_is_no_move(con: Any) -> None:
    """An order without a store or a day that gets one has moved nowhere from."""
    assert cause(con, NEW, {"store_id": None}, {}) == "source_changed"
    assert cause(con, NEW | {"business_date": None}, {"business_date": None}, {}) == "source_changed"
    assert cause(con, NEW, {"business_date": None}, {}) == "business_date_changed"


@pytest.mark.parametrize(
    ("order", "booked", "present", "expected"),
    [
        ({}, {"sale_class": "deleted"}, {"sales_hash": "new"}, "sale_class_changed"),
        ({"is_deleted": True}, {"sale_class": "deleted"}, {}, "pipeline_changed"),
        ({"business_date": OTHER_DAY}, {}, {"business_day_hash": "new"}, "setting_changed"),
        ({"business_date": None}, {}, {"business_day_hash": "new"}, "setting_changed"),
        ({}, {}, {"business_day_hash": "new"}, "pipeline_changed"),
        ({"sale_class": "excluded"}, {}, {"sales_hash": "new"}, "setting_changed"),
        ({"sale_class": "excluded"}, {}, {}, "pipeline_changed"),
        ({}, {}, {"sales_hash": "new"}, "pipeline_changed"),
        ({"business_date": OTHER_DAY, "timezone": "Asia/Tokyo"}, {}, {}, "business_date_changed"),
        ({"business_date": None, "timezone": "Asia/Tokyo"}, {}, {}, "business_date_changed"),
        ({"business_date": OTHER_DAY}, {}, {}, "pipeline_changed"),
        ({"timezone": "Asia/Tokyo"}, {}, {}, "pipeline_changed"),
        ({"is_between_currencies": True}, {}, {"rules_hash": "new"}, "currency_changed"),
        ({"is_of_lines_alone": True}, {}, {"rules_hash": "new"}, "rule_changed"),
        ({"is_of_lines_alone": True}, {}, {}, "pipeline_changed"),
        ({}, {}, {"rules_hash": "new"}, "pipeline_changed"),
        (QUARANTINED | {"store_id": 2}, {}, {}, "pipeline_changed"),
    ],
)
@pytest.mark.promise(9)
def test_an_order_with_the_same_document(
    con: Any, order: dict[str, Any], booked: dict[str, Any], present: dict[str, Any], expected: str
) -> None:
    """A changed setting counts only for what it decides; what nothing explains is a change of the pipeline."""
    assert cause(con, order, booked, present) == expected
