"""core.modifier_price_versions: one row per place of a modifier and run of versions in which it is the same."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

TABLE = "core.modifier_price_versions"


def version(version_no: int, price: str, child_price: str) -> dict[str, Any]:
    """Return a row of raw.menu_versions: product 100 with modifier 201, and its child 202."""
    return {
        "menu_id": 1,
        "version_no": version_no,
        "is_new": True,
        "first_seen_at": f"2026-11-20T{version_no:02d}:00:00Z",
        "last_seen_at": f"2026-11-20T{version_no:02d}:30:00Z",
        "document": {
            "products": {"100": {"modifiers": [{"modifier_id": 201, "price": price}]}},
            "modifiers": {"201": {"children": [{"modifier_id": 202, "price": child_price}]}},
        },
        "_load_id": f"L{version_no}",
    }


def told(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return parent, version, modifier, price and whether it is current."""
    return [
        (row["parent_type"], row["parent_id"], row["version_no"], row["modifier_id"], row["price"], row["is_current"])
        for row in rows
    ]


@pytest.mark.duckdb2
def test_a_price_in_its_place(run_table: Run) -> None:
    """A modifier's price changes in one place alone; the other place keeps its row."""
    rows = run_table(TABLE, {"raw.menu_versions": [version(1, "1", "0"), version(2, "1", "0.5")]})
    assert told(rows) == [
        ("modifier", 201, 1, 202, Decimal(0), False),
        ("modifier", 201, 2, 202, Decimal("0.5"), True),
        ("product", 100, 1, 201, Decimal(1), True),
    ]


def test_what_was_goes_on(run_table: Run) -> None:
    """A price that the table has ends when a new version has another."""
    stored = {"menu_id": 1, "parent_type": "product", "parent_id": 100, "edge_no": 1, "version_no": 1}
    rows = run_table(
        TABLE,
        {
            TABLE: [stored | {"modifier_id": 201, "price": "1", "is_current": True, "_load_id": "L1"}],
            "raw.menu_versions": [{"menu_id": 1, "version_no": 1, "is_new": False}, version(2, "2", "0")],
        },
    )
    assert told(rows) == [
        ("modifier", 201, 2, 202, Decimal(0), True),
        ("product", 100, 1, 201, Decimal(1), False),
        ("product", 100, 2, 201, Decimal(2), True),
    ]
