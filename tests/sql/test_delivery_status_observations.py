"""core.delivery_status_observations: one row per place of a delivery record and run in which it is the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

TABLE = "core.delivery_status_observations"


def version(version_no: int, *deliveries: tuple[int, str], order_id: int = 7) -> dict[str, Any]:
    """Return a row of core.order_versions with these deliveries, seen in the hour of its number."""
    seen = f"2026-11-20T{version_no:02d}:00:00Z"
    return {
        "order_id": order_id,
        "version_no": version_no,
        "delivery_ids": [each[0] for each in deliveries],
        "delivery_statuses": [each[1] for each in deliveries],
        "first_seen_at": seen,
        "last_seen_at": seen,
    }


def told(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return place, run, id, status and the status before."""
    return [
        (row["delivery_no"], row["observation_no"], row["delivery_id"], row["status"], row["previous_status"])
        for row in rows
    ]


@pytest.mark.duckdb2
def test_each_place_has_its_runs(run_table: Run) -> None:
    """Each record's status has its own runs."""
    given = [
        version(1, (3, "sent"), (4, "sent")),
        version(2, (3, "sent"), (4, "done")),
        version(3, (3, "done"), (4, "done")),
    ]
    rows = run_table(TABLE, {"core.order_versions": given})
    assert told(rows) == [
        (1, 1, 3, "sent", None),
        (1, 2, 3, "done", "sent"),
        (2, 1, 4, "sent", None),
        (2, 2, 4, "done", "sent"),
    ]
    assert [row["previous_last_seen_at"] and row["previous_last_seen_at"].hour for row in rows] == [None, 2, None, 1]


def test_another_id_has_no_past(run_table: Run) -> None:
    """Where a place holds another id, a record without a past begins."""
    rows = run_table(TABLE, {"core.order_versions": [version(1, (3, "sent")), version(2, (5, "done"))]})
    assert told(rows) == [(1, 1, 3, "sent", None), (1, 2, 5, "done", None)]
    assert rows[1]["previous_last_seen_at"] is None


def test_a_record_that_was_away_begins_again(run_table: Run) -> None:
    """A record that was away in one version and is back in the next is two runs; one version is one row."""
    given = [version(1, (3, "sent")), version(2), version(3, (3, "sent")), version(1, (9, "sent"), order_id=8)]
    rows = run_table(TABLE, {"core.order_versions": given})
    assert told(rows) == [(1, 1, 3, "sent", None), (1, 2, 3, "sent", "sent"), (1, 1, 9, "sent", None)]
