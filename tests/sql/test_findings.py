"""audit.findings: the violations of the checks that warn, each by itself."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

LINE = {
    "check_name": "core.order_lines__have_positive_quantities",
    "table_name": "core.order_lines",
    "entity_id": 7,
    "location": "line 2",
    "residual": None,
    "detail": "quantity 0",
}
AMOUNT = {
    "check_name": "mart.orders__total_follows_its_rule",
    "table_name": "mart.orders",
    "entity_id": None,
    "location": None,
    "residual": Decimal("-9999999999999999999999999999999999.9999"),
    "detail": None,
}


@pytest.mark.duckdb2
def test_every_violation_is_a_row(run_table: Run) -> None:
    """Equal violations stay two; one about no entity, with an amount of 38 digits, loses nothing."""
    rows = run_table("audit.findings", {"raw.findings": [LINE, AMOUNT, LINE]})
    assert sorted(rows, key=lambda row: row["check_name"]) == [LINE, LINE, AMOUNT]


def test_no_violation_is_no_row(run_table: Run) -> None:
    """Without violations the table is empty."""
    assert run_table("audit.findings", {}) == []
