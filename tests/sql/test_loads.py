"""audit.loads: one row per load, how many bodies it judged, by verdict."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def verdict(load_id: str, seq: int, said: str, **more: Any) -> dict[str, Any]:
    """Return a row of raw.observations."""
    return {
        "kind": "orders",
        "id": seq,
        "seq": seq,
        "source": "live",
        "verdict": said,
        "load_id": load_id,
        "observed_at": f"2026-11-20T10:00:0{seq}Z",
    } | more


@pytest.mark.duckdb2
def test_verdicts_are_counted(run_table: Run) -> None:
    """Every verdict of a load is counted once, under what it says."""
    said = ["accepted", "accepted", "unchanged", "quarantined", "missing", "failed"]
    rows = run_table("audit.loads", {"raw.observations": [verdict("L1", n, each) for n, each in enumerate(said)]})
    assert [
        (
            r["payload_count"],
            r["accepted_count"],
            r["unchanged_count"],
            r["quarantined_count"],
            r["not_found_count"],
            r["failed_count"],
        )
        for r in rows
    ] == [(6, 2, 1, 1, 1, 1)]
    assert (rows[0]["received_count"], rows[0]["validated_count"]) == (6, 6)
    assert rows[0]["last_observed_at"] == dt.datetime(2026, 11, 20, 10, 0, 5, tzinfo=dt.UTC)


def test_an_archive_without_times_or_ids(run_table: Run) -> None:
    """A load of bodies without an id, of unknown time, is a row too."""
    unknown = {"source": "archive", "observed_at": None, "id": None}
    rows = run_table("audit.loads", {"raw.observations": [verdict("L1", 0, "quarantined", **unknown)]})
    assert [(row["source"], row["no_id_count"], row["first_observed_at"]) for row in rows] == [("archive", 1, None)]


def test_a_hole_shows(run_table: Run) -> None:
    """A body without a verdict, or with two, leaves its mark in the places."""
    given = [verdict("L1", 0, "accepted"), verdict("L1", 2, "accepted"), verdict("L2", 0, "accepted")]
    rows = run_table("audit.loads", {"raw.observations": [*given, verdict("L2", 0, "unchanged")]})
    assert [(row["payload_count"], row["received_count"], row["validated_count"]) for row in rows] == [
        (2, 3, 2),
        (2, 1, 1),
    ]
