"""core.menu_product_versions: one row per product of a menu and run of versions in which it is the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

TABLE = "core.menu_product_versions"


def version(version_no: int, **products: str) -> dict[str, Any]:
    """Return a row of raw.menu_versions with products p1, p2, … of these names."""
    return {
        "menu_id": 1,
        "version_no": version_no,
        "is_new": True,
        "first_seen_at": f"2026-11-20T{version_no:02d}:00:00Z",
        "last_seen_at": f"2026-11-20T{version_no:02d}:30:00Z",
        "document": {
            "products": {key[1:]: {"name": name, "dispatch_method": "both"} for key, name in products.items()}
        },
        "_load_id": f"L{version_no}",
    }


def told(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return product, version, name and whether it is current."""
    return [(row["product_id"], row["version_no"], row["name"], row["is_current"]) for row in rows]


@pytest.mark.duckdb2
def test_a_renamed_product(run_table: Run) -> None:
    """A rename is a second row of that product alone; one that left the menu is no longer current."""
    rows = run_table(
        TABLE, {"raw.menu_versions": [version(1, p1="Soup", p2="Bread", p3="Tea"), version(2, p1="Broth", p2="Bread")]}
    )
    assert told(rows) == [
        (1, 1, "Soup", False),
        (1, 2, "Broth", True),
        (2, 1, "Bread", True),
        (3, 1, "Tea", False),
    ]
    assert [row["dispatch_method"] for row in rows] == ["both"] * 4


def test_what_was_goes_on(run_table: Run) -> None:
    """A product that the table has goes on in its row when a new version leaves it as it was."""
    stored = {"menu_id": 1, "product_id": 1, "version_no": 1, "name": "Soup", "dispatch_method": "both"}
    rows = run_table(
        TABLE,
        {
            TABLE: [stored | {"is_current": True, "_load_id": "L1"}],
            "raw.menu_versions": [{"menu_id": 1, "version_no": 4, "is_new": False}, version(5, p1="Soup", p2="Tea")],
        },
    )
    assert told(rows) == [(1, 1, "Soup", True), (2, 5, "Tea", True)]
