"""audit.quarantine: what was refused, why, and whether it still is."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def refused(id_: int | None, reason: str, hour: int | None, **more: Any) -> dict[str, Any]:
    """Return a row of raw.refusals of an order, at that hour of a day."""
    at = None if hour is None else f"2026-11-20T{hour:02}:00:00Z"
    source = "archive" if hour is None else "live"
    load_id = f"L{hour or 0:02}"
    given = {"kind": "orders", "id": id_, "reason": reason, "pointer": "/tip", "verdict": "quarantined", "seq": 0}
    return given | {"observed_at": at, "source": source, "load_id": load_id} | more


def state(id_: int, last_verdict: str) -> dict[str, Any]:
    """Return a row of raw.states of an order."""
    return {"kind": "orders", "id": id_, "last_verdict": last_verdict}


@pytest.mark.duckdb2
def test_still_refused_or_mended(run_table: Run) -> None:
    """What was refused last is still refused; what was accepted since stays listed, and says so."""
    rows = run_table(
        "audit.quarantine",
        {
            "raw.refusals": [refused(1, "wrong_type", 1), refused(2, "wrong_type", 1), refused(3, "wrong_type", 1)],
            "raw.states": [state(1, "quarantined"), state(2, "accepted"), state(3, "unchanged")],
        },
    )
    assert [(row["entity_id"], row["is_unresolved"]) for row in rows] == [(1, True), (2, False), (3, False)]


@pytest.mark.duckdb2
def test_one_row_a_cause(run_table: Run) -> None:
    """The same cause night after night is one row with its first and last time; another cause is another row."""
    rows = run_table(
        "audit.quarantine",
        {
            "raw.refusals": [
                refused(1, "wrong_type", 1),
                refused(1, "wrong_type", 3),
                refused(1, "wrong_type", None),
                refused(1, "duplicate_key", 5, pointer=None),
            ],
            "raw.states": [state(1, "quarantined")],
        },
    )
    assert [(r["reason"], r["occurrence_count"], r["load_id"], r["source"], r["is_unresolved"]) for r in rows] == [
        ("duplicate_key", 1, "L05", "live", True),
        ("wrong_type", 3, "L03", "live", False),
    ]
    assert rows[1]["first_seen_at"] == dt.datetime(2026, 11, 20, 1, tzinfo=dt.UTC)
    assert rows[1]["last_seen_at"] == dt.datetime(2026, 11, 20, 3, tzinfo=dt.UTC)


def test_bodies_without_an_id(run_table: Run) -> None:
    """Bodies without an id are a row each, and always still refused: nothing can be known to mend them."""
    rows = run_table(
        "audit.quarantine",
        {"raw.refusals": [refused(None, "not_json", None, seq=seq, pointer=None) for seq in (0, 1)]},
    )
    assert [(row["entity_id"], row["seq"], row["occurrence_count"], row["is_unresolved"]) for row in rows] == [
        (None, 0, 1, True),
        (None, 1, 1, True),
    ]


def test_kinds_do_not_mix(run_table: Run) -> None:
    """A menu and an order of one number are two documents."""
    rows = run_table(
        "audit.quarantine",
        {
            "raw.refusals": [refused(1, "wrong_type", 1), refused(1, "wrong_type", 1, kind="menus")],
            "raw.states": [state(1, "accepted"), {"kind": "menus", "id": 1, "last_verdict": "quarantined"}],
        },
    )
    assert [(row["kind"], row["is_unresolved"]) for row in rows] == [("menus", True), ("orders", False)]


def test_of_equal_times_the_last_is_live_of_the_last_load(run_table: Run) -> None:
    """Then by load, then by its place in the load; a cause and a document have the same last rejection."""
    first = refused(1, "wrong_type", 1, load_id="L1", source="archive")
    later = [{"source": "live"}, {"source": "live", "load_id": "L2"}, {"source": "live", "load_id": "L2", "seq": 3}]
    refusals = [first, *(first | each for each in later)]
    for count in range(1, len(refusals) + 1):
        last = refusals[count - 1]
        for order in (refusals[:count], refusals[:count][::-1]):
            (row,) = run_table("audit.quarantine", {"raw.refusals": order, "raw.states": [state(1, "quarantined")]})
            assert (row["source"], row["load_id"], row["seq"]) == (last["source"], last["load_id"], last["seq"])
            assert (row["occurrence_count"], row["is_unresolved"]) == (count, True)
