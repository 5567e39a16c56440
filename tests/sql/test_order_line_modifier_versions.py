"""core.order_line_modifier_versions: the modifiers of versions whose items changed."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

TABLE = "core.order_line_modifier_versions"


@pytest.mark.duckdb2
def test_before_and_after(run_table: Run) -> None:
    """A modifier's new price is a row beside the old one; a second equal modifier has its own place."""
    before = {"items": [{"id": 1, "modifiers": [{"id": 5, "price": "1"}]}]}
    after = {"items": [{"id": 1, "modifiers": [{"id": 5, "price": "2"}, {"id": 5, "price": "2"}]}]}
    rows = run_table(
        TABLE,
        {
            "raw.order_edits": [
                {"order_id": 7, "version_no": 2, "lines_version_no": 2, "before": before, "after": after}
            ]
        },
    )
    assert [(row["lines_version_no"], row["line_no"], row["modifier_no"], row["price"]) for row in rows] == [
        (1, 1, 1, Decimal(1)),
        (2, 1, 1, Decimal(2)),
        (2, 1, 2, Decimal(2)),
    ]


def test_what_was_stays(run_table: Run) -> None:
    """Rows that the table has stay, and a change of something else adds none."""
    stored = {"order_id": 7, "lines_version_no": 1, "line_no": 1, "modifier_no": 1, "modifier_id": 5}
    rows = run_table(
        TABLE, {TABLE: [stored], "raw.order_edits": [{"order_id": 7, "before": {}, "after": {"tip": "1"}}]}
    )
    assert [row["modifier_id"] for row in rows] == [5]
