"""core.order_line_versions and core.order_line_modifier_versions: the lines of versions whose items changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

TABLE = "core.order_line_versions"


def edit(version_no: int, lines_version_no: int, before: list[int], after: list[int]) -> dict[str, Any]:
    """Return a row of raw.order_edits with lines of these ids."""
    old, new = ({"items": [{"id": each, "price": "1"} for each in ids]} for ids in (before, after))
    return {
        "order_id": 7,
        "version_no": version_no,
        "lines_version_no": lines_version_no,
        "before": old,
        "after": new,
    }


def lines(rows: list[dict[str, Any]]) -> list[tuple[int, int, int]]:
    """Return lines' version, line_no and line_id of each row."""
    return [(row["lines_version_no"], row["line_no"], row["line_id"]) for row in rows]


@pytest.mark.duckdb2
def test_the_first_change_keeps_both(run_table: Run) -> None:
    """When lines change for the first time, those before and those after are rows."""
    rows = run_table(TABLE, {"raw.order_edits": [edit(2, 2, [1], [1, 2])]})
    assert lines(rows) == [(1, 1, 1), (2, 1, 1), (2, 2, 2)]


def test_a_later_change_adds_its_own(run_table: Run) -> None:
    """A later change adds the lines after it: those before it stand already."""
    stored = [
        {"order_id": 7, "lines_version_no": 1, "line_no": 1, "line_id": 1},
        {"order_id": 7, "lines_version_no": 2, "line_no": 1, "line_id": 2},
    ]
    rows = run_table(TABLE, {TABLE: stored, "raw.order_edits": [edit(5, 3, [2], [1])]})
    assert lines(rows) == [(1, 1, 1), (2, 1, 2), (3, 1, 1)]


def test_other_changes_add_nothing(run_table: Run) -> None:
    """A version in which other things than items changed adds no line."""
    assert run_table(TABLE, {"raw.order_edits": [edit(2, 1, [1], [1])]}) == []
