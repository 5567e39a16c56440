"""core.menu_price_versions: one row per place of a price and run of versions in which it is the same."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

TABLE = "core.menu_price_versions"


def version(version_no: int, *prices: str, first: int | None = None, last: int | None = None) -> dict[str, Any]:
    """Return a row of raw.menu_versions: a menu with these prices in one group, seen in hours 2n and 2n + 1."""
    seen = [f"2026-11-20T{hour:02d}:00:00Z" for hour in (first or 2 * version_no, last or 2 * version_no + 1)]
    return {
        "menu_id": 1,
        "version_no": version_no,
        "is_new": True,
        "first_seen_at": seen[0],
        "last_seen_at": seen[1],
        "document": {
            "menu": {"price_groups": [{"prices": [{"product_id": n, "price": each} for n, each in enumerate(prices)]}]}
        },
        "_load_id": f"L{version_no}",
    }


def told(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return place, version, price, the hours of observation, and whether it is current."""
    return [
        (
            row["price_no"],
            row["version_no"],
            row["price"],
            *(row[each] and row[each].hour for each in ("observed_from", "observed_to", "change_seen_at")),
            row["is_current"],
        )
        for row in rows
    ]


@pytest.mark.duckdb2
def test_a_row_only_on_change(run_table: Run) -> None:
    """Only the price that changed has a second row; its first one says when it was last seen, and what came when."""
    rows = run_table(TABLE, {"raw.menu_versions": [version(1, "5", "6"), version(2, "5", "7")]})
    assert told(rows) == [
        (1, 1, Decimal(5), 2, None, None, True),
        (2, 1, Decimal(6), 2, 3, 4, False),
        (2, 2, Decimal(7), 4, None, None, True),
    ]


def test_a_price_that_was_away(run_table: Run) -> None:
    """A price that vanishes ends, and one that comes back begins again."""
    rows = run_table(TABLE, {"raw.menu_versions": [version(1, "5"), version(2), version(3, "5")]})
    assert told(rows) == [
        (1, 1, Decimal(5), 2, 3, 4, False),
        (1, 3, Decimal(5), 6, None, None, True),
    ]


def test_what_was_goes_on(run_table: Run) -> None:
    """After a version that the table has, an unchanged price keeps its row, and a changed one ends as last seen."""
    stored = {"menu_id": 1, "group_no": 1, "version_no": 1, "observed_from": "2026-11-20T01:00:00Z", "_load_id": "L1"}
    last = {"menu_id": 1, "version_no": 2, "is_new": False, "last_seen_at": "2026-11-20T05:00:00Z"}
    rows = run_table(
        TABLE,
        {
            TABLE: [
                stored | {"price_no": 1, "product_id": 0, "price": "5", "is_current": True},
                stored | {"price_no": 2, "product_id": 1, "price": "6", "is_current": True},
                stored | {"price_no": 3, "product_id": 2, "price": "8", "is_current": False},
            ],
            "raw.menu_versions": [last, version(3, "5", "7")],
        },
    )
    assert told(rows) == [
        (1, 1, Decimal(5), 1, None, None, True),
        (2, 1, Decimal(6), 1, 5, 6, False),
        (2, 3, Decimal(7), 6, None, None, True),
        (3, 1, Decimal(8), 1, None, None, False),
    ]
    assert [row["_load_id"] for row in rows] == ["L1", "L1", "L3", "L1"]
