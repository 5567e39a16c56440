"""workings.daily_question_cases: which orders depend on an assumption, by business day."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

DAY = dt.date(2026, 11, 20)


@pytest.mark.duckdb2
def test_each_order_answers_what_it_can(run_table: Run) -> None:
    """An order stands under each question for or against, without a rule against; under none that it cannot answer."""
    order = {
        "business_date": DAY,
        "sale_class": "counted",
        "currency": "EUR",
        "timezone_source": "store",
        "is_deleted": False,
        "total_price": "5",
    }
    ruled = {"subtotal_rule": "s", "total_rule": "t"}
    rows = run_table(
        "workings.daily_question_cases",
        {
            "mart.orders": [
                order | {"order_id": 1, "created_at_local": "2026-11-20 23:00", "requested_time_local": "2026-11-21"},
                order | {"order_id": 2, "sale_class": "unmapped", "total_price": "1.005"},
                order | {"order_id": 3, "timezone_source": "setting"},
            ],
            "mart.order_reconciliation": [
                ruled | {"order_id": 1, "total_residual": "0", "missing_parts": []},
                ruled | {"order_id": 2, "total_residual": "-0.0001", "subtotal_residual": "2", "missing_parts": []},
                {"order_id": 3, "subtotal_rule": "s", "missing_parts": ["tip"]},
            ],
        },
    )
    against = {row["question"]: row for row in rows if row["is_against"]}
    assert {name: row["example_ids"] for name, row in against.items()} == {
        "business_day": [1],
        "sales": [2],
        "total_formula": [2, 3],
        "subtotal_formula": [2],
        "decimals": [2],
        "timezone": [3],
        "nulls": [3],
    }
    assert against["sales"]["total_price"] == Decimal("1.005")
    agree = {row["question"]: row["order_count"] for row in rows if not row["is_against"]}
    assert (agree["total_formula"], agree["timezone"], agree["deleted"]) == (1, 2, 3)
    assert "business_day" not in agree
