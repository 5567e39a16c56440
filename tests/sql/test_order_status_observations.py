"""core.order_status_observations: one row per run of versions of an order with the same status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

TABLE = "core.order_status_observations"


def version(
    version_no: int, status: str | None, first: int | None, last: int | None, order_id: int = 7
) -> dict[str, Any]:
    """Return a row of core.order_versions, seen from one hour to another."""
    seen = [None if hour is None else f"2026-11-20T{hour:02d}:00:00Z" for hour in (first, last)]
    return {
        "order_id": order_id,
        "version_no": version_no,
        "status": status,
        "first_seen_at": seen[0],
        "last_seen_at": seen[1],
    }


def hours(row: dict[str, Any]) -> list[int | None]:
    """Return the hours of a row's three times."""
    times = [row["previous_last_seen_at"], row["first_seen_at"], row["last_seen_at"]]
    return [None if each is None else each.hour for each in times]


@pytest.mark.duckdb2
def test_the_gap_of_a_change(run_table: Run) -> None:
    """Versions of one status are one run, and a change lies between the last sight before and the first after."""
    given = [version(1, "new", 1, 2), version(2, "new", 3, 4), version(3, "done", 8, 9), version(4, "new", 10, 10)]
    rows = run_table(TABLE, {"core.order_versions": given})
    assert [(row["observation_no"], row["status"], row["previous_status"]) for row in rows] == [
        (1, "new", None),
        (2, "done", "new"),
        (3, "new", "done"),
    ]
    assert [hours(row) for row in rows] == [[None, 1, 4], [4, 8, 9], [9, 10, 10]]


def test_one_version_is_one_row(run_table: Run) -> None:
    """An order with one version has one row, with no past."""
    rows = run_table(TABLE, {"core.order_versions": [version(1, "new", 1, 2), version(1, None, 3, 3, order_id=8)]})
    assert [(row["order_id"], row["status"], hours(row)) for row in rows] == [
        (7, "new", [None, 1, 2]),
        (8, None, [None, 3, 3]),
    ]


def test_an_unknown_time_bounds_nothing(run_table: Run) -> None:
    """A change after an archive of unknown time has no lower bound; a status that became null is a run too."""
    rows = run_table(TABLE, {"core.order_versions": [version(1, "new", None, None), version(2, None, 5, 6)]})
    assert [(row["status"], row["previous_status"], hours(row)) for row in rows] == [
        ("new", None, [None, None, None]),
        (None, "new", [None, 5, 6]),
    ]
