"""core.store_versions: one row per store and run of records with the same name, timezone and currency."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

TABLE = "core.store_versions"


def version(store_id: int, version_no: int, name: str | None, *, is_new: bool = True) -> dict[str, Any]:
    """Return a row of raw.store_versions, seen from 2n to 2n + 1 o'clock."""
    return {
        "store_id": store_id,
        "version_no": version_no,
        "is_new": is_new,
        "first_seen_at": f"2026-11-20T{2 * version_no:02d}:00:00Z",
        "last_seen_at": f"2026-11-20T{2 * version_no + 1:02d}:00:00Z",
        "document": {"name": name, "timezone": "UTC", "currency": "EUR"} if is_new else {},
        "_load_id": f"L{version_no}",
    }


def told(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return version, name, the hours when it was listed, and whether it is current."""
    return [
        (row["version_no"], row["name"], row["first_listed_at"].hour, row["last_listed_at"].hour, row["is_current"])
        for row in rows
    ]


@pytest.mark.duckdb2
def test_a_rename_is_a_row(run_table: Run) -> None:
    """A new name is a new row; a record that differs elsewhere is none."""
    given = [version(1, 1, "North"), version(1, 2, "North"), version(1, 3, "South"), version(1, 4, "North")]
    rows = run_table(TABLE, {"raw.store_versions": given})
    assert told(rows) == [(1, "North", 2, 5, False), (3, "South", 6, 7, False), (4, "North", 8, 9, True)]


@pytest.mark.parametrize("field", ["name", "timezone", "currency"])
@pytest.mark.parametrize("values", [(None, "EUR"), ("EUR", None), ("EUR", "USD")])
def test_each_field_is_told_from_its_absence(run_table: Run, field: str, values: tuple[Any, ...]) -> None:
    """A value stated, no longer stated or stated otherwise is another row."""
    given = [version(1, number, "North") for number in (1, 2)]
    for row, value in zip(given, values, strict=True):
        row["document"] = row["document"] | {field: value}
    rows = run_table(TABLE, {"raw.store_versions": given})
    assert [(row["version_no"], row[field]) for row in rows] == list(enumerate(values, 1))


def test_an_empty_currency_is_none(run_table: Run) -> None:
    """'' is no currency: a record that has it, and then none, says the same."""
    given = [version(1, number, "North") for number in (1, 2)]
    for row, value in zip(given, ("", None), strict=True):
        row["document"] = row["document"] | {"currency": value}
    assert [row["currency"] for row in run_table(TABLE, {"raw.store_versions": given})] == [None]


def test_seen_again(run_table: Run) -> None:
    """A store that is listed again as it was is only listed later; what it was before stays."""
    stored = {
        "store_id": 1,
        "timezone": "UTC",
        "currency": "EUR",
        "first_listed_at": "2026-11-20T01:00:00Z",
        "last_listed_at": "2026-11-20T02:00:00Z",
        "_load_id": "L0",
    }
    rows = run_table(
        TABLE,
        {
            TABLE: [
                stored | {"version_no": 1, "name": "North", "is_current": False},
                stored | {"version_no": 2, "name": "South", "is_current": True},
            ],
            "raw.store_versions": [version(1, 3, None, is_new=False)],
        },
    )
    assert told(rows) == [(1, "North", 1, 2, False), (2, "South", 1, 7, True)]
