"""audit.schema_drift: what was first met after the first loads of its kind."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

    Row = dict[str, Any]


def at(hour: int, second: int = 0) -> dt.datetime:
    """Return a time of the first night."""
    return dt.datetime(2026, 11, 20, hour, 0, second, tzinfo=dt.UTC)


def load(name: str, hour: int, second: int = 0, **fields: Any) -> Row:
    """Return a live load of orders that lasted three seconds."""
    seen = {"first_observed_at": at(hour, second), "last_observed_at": at(hour, second + 3)}
    return {"load_id": name, "kind": "orders", "source": "live", "is_backfill": False, **seen, **fields}


def value(name: str, hour: int, second: int = 1, **fields: Any) -> Row:
    """Return a status, first seen then."""
    seen = {"first_seen_at": at(hour, second), "is_of_unknown_time": False, "example_id": 7}
    return {"kind": "orders", "path": "/status", "value": name, **seen, **fields}


def refusal(name: str, hour: int) -> Row:
    """Return an order that was quarantined in a load of that hour."""
    refused = {"kind": "orders", "id": 5, "reason": "wrong_type", "pointer": "/items/3/price", "source": "live"}
    return {"load_id": name, "observed_at": at(hour, 1), **refused}


@pytest.mark.duckdb2
def test_values_after_the_first_loads_are_drift(run_table: Run) -> None:
    """Loads without a pause between them are one start; what a later one brings first is drift."""
    rows = run_table(
        "audit.schema_drift",
        {
            "audit.loads": [load("a", 1), load("b", 1, 8), load("c", 5)],
            "audit.vocabulary": [value("done", 1), value("late", 1, 9), value("lost", 5)],
        },
    )
    assert [(row["value"], row["change_type"], row["load_id"], row["example_ids"]) for row in rows] == [
        ("lost", "value", "c", [7])
    ]


def test_notes_and_other_types_are_drift_too(run_table: Run) -> None:
    """A null, an absence, a new field and a documented field of another type are reported once, when first met."""
    notes = [("a", "tip=null"), ("c", "tip=null"), ("c", "tip=absent"), ("c", "/items/*/x:number|string")]
    rows = run_table(
        "audit.schema_drift",
        {
            "audit.loads": [load("a", 1), load("c", 5), load("d", 6)],
            "workings.load_notes": [
                *({"load_id": each, "note": note, "kind": "orders", "example_ids": [3]} for each, note in notes),
                {"load_id": "d", "note": "tip=absent", "kind": "orders", "example_ids": [9]},
            ],
            "audit.field_profile": [{"kind": "orders", "path": "/items/*/x"}],
            "raw.refusals": [refusal("d", 6)],
        },
    )
    assert [(row["path"], row["change_type"], row["value"], row["load_id"], row["example_ids"]) for row in rows] == [
        ("/items/*/price", "type", None, "d", [5]),
        ("/items/*/x", "field", "number|string", "c", [3]),
        ("/tip", "absent", None, "c", [3]),
    ]


def test_a_document_refused_every_night_is_drift_of_the_first(run_table: Run) -> None:
    """The load is the one in which the type first occurred, however often the document is refused later."""
    rows = run_table(
        "audit.schema_drift",
        {
            "audit.loads": [load("a", 1), load("c", 5), load("d", 6), load("e", 7)],
            "raw.refusals": [refusal("e", 7), refusal("c", 5), refusal("d", 6)],
        },
    )
    assert [(row["path"], row["load_id"], row["first_seen_at"]) for row in rows] == [("/items/*/price", "c", at(5, 1))]


def test_archives_raise_nothing(run_table: Run) -> None:
    """What an archive, a backfill or something of unknown time showed is never drift."""
    rows = run_table(
        "audit.schema_drift",
        {
            "audit.loads": [
                load("a", 1),
                load("b", 4, source="archive"),
                load("c", 5, is_backfill=True),
                load("d", 6, source="archive", first_observed_at=None, last_observed_at=None),
                load("e", 8),
            ],
            "audit.vocabulary": [value("old", 4), value("older", 5), value("known", 8, is_of_unknown_time=True)],
            "workings.load_notes": [
                {"load_id": each, "note": f"{field}=null", "kind": "orders", "example_ids": [3]}
                for each, field in (("b", "x"), ("e", "x"), ("c", "y"), ("d", "z"), ("e", "z"))
            ],
        },
    )
    assert rows == []
