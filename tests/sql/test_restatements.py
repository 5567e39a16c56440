"""mart.restatements: rows as recorded, under active and inactive closes."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

CLOSED_AT = "2026-11-02T00:00:00Z"
EVERY = {"business_date": "2026-10-31", "is_every_store": True, "close_entry_no": 1, "closed_at": CLOSED_AT}
ROW = {
    "entry_no": 2,
    "restatement_no": 1,
    "close_entry_no": 1,
    "order_id": 7,
    "store_id": 5,
    "business_date": "2026-10-31",
    "sale_class": "counted",
    "measure": "tip",
    "closed_amount": "1",
    "prior_restated_amount": "0",
    "current_amount": "3",
    "restatement_amount": "2",
    "cause": "source_changed",
    "detected_at": "2026-11-03T00:00:00Z",
    "current_business_date": "2026-10-31",
    "current_sale_class": "counted",
}


def test_a_restatement_counts_under_the_active_close(run_table: Run) -> None:
    """A store's own close takes precedence; a reopened store-day has no active close."""
    own = {"business_date": "2026-10-31", "store_id": 5, "is_every_store": False}
    for closes, is_active in (
        ([EVERY], True),
        ([EVERY, own | {"close_entry_no": None}], False),
        ([EVERY, own | {"close_entry_no": 3, "closed_at": CLOSED_AT}], False),
        ([own | {"close_entry_no": 1, "closed_at": CLOSED_AT}], True),
        ([], False),
    ):
        (row,) = run_table("mart.restatements", {"raw.restated": [ROW], "raw.day_closes": closes})
        assert row["is_close_active"] is is_active


@pytest.mark.duckdb2
def test_a_restatement_is_shown_as_recorded(run_table: Run) -> None:
    """Amounts and period are those of the ledger."""
    rows = run_table(
        "mart.restatements", {"raw.restated": [ROW, ROW | {"restatement_no": 2, "posted_period": "2026-11"}]}
    )
    assert [(row["restatement_no"], row["restatement_amount"], row["posted_period"]) for row in rows] == [
        (1, Decimal(2), None),
        (2, Decimal(2), "2026-11"),
    ]
