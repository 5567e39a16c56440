"""audit.monthly_formula_residuals and audit.monthly_formula_patterns: days add up to months."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[[str, dict[str, list[dict[str, Any]]]], list[dict[str, Any]]]


def _day(day: str | None, value: str | None, sums: list[str], largest: list[str], **others: Any) -> dict[str, Any]:
    return {
        "business_date": day,
        "platform": value,
        "part": "total",
        "has_other": False,
        "orders": 2,
        "currency": "EUR",
        "has_currencies": False,
        "sums": sums,
        "largest": largest,
        **others,
    }


@pytest.mark.duckdb2
def test_days_add_up_to_months(run_table: Run) -> None:
    """The days of a month add up form by form, in exact decimals; no day and no value are months and values too."""
    rows = run_table(
        "audit.monthly_formula_residuals",
        {
            "audit.formula_residuals": [
                _day("2026-10-01", "web", ["0.10", "30", "3"], ["0.10", "2", "1"]),
                _day("2026-10-31", "web", ["0.20", "40", "4"], ["0.20", "1", "5"]),
                _day("2026-11-01", "web", ["5", "0", "6"], ["5", "6", "7"]),
                _day("2026-11-02", None, ["7", "0", "8"], ["7", "8", "9"]),
                _day(None, "web", ["0", "0", "9"], ["0", "9", "1"]),
            ],
        },
    )
    told = [
        (row["business_month"], row["platform"], row["orders"], row["residuals"][:3], row["largest"])
        for row in sorted(rows, key=lambda row: (str(row["business_month"]), str(row["platform"])))
    ]

    def amounts(*texts: str) -> list[Decimal]:
        return [Decimal(text) for text in texts]

    assert told == [
        (dt.date(2026, 10, 1), "web", 4, amounts("0.3", "7.3", "14.3"), amounts("0.2", "2", "5")),
        (dt.date(2026, 11, 1), None, 2, amounts("7", "15", "23"), amounts("7", "8", "9")),
        (dt.date(2026, 11, 1), "web", 2, amounts("5", "11", "17"), amounts("5", "6", "7")),
        (None, "web", 2, amounts("0", "9", "18"), amounts("0", "9", "1")),
    ]


@pytest.mark.duckdb2
def test_forms_are_worked_out_of_sums(run_table: Run) -> None:
    """Forms of the total leave over what the parts that they count otherwise change; of the subtotal, modifiers."""
    (total,) = run_table(
        "audit.monthly_formula_residuals",
        {"audit.formula_residuals": [_day("2026-10-01", "web", ["1", "1000", "10", "20", "300", "4"], ["0"] * 13)]},
    )
    assert total["residuals"] == [
        Decimal(text)
        for text in ("1", "11", "21", "21", "41", "-299", "-599", "-3", "-7", "-303", "31", "1001", "2001")
    ]
    (subtotal,) = run_table(
        "audit.monthly_formula_residuals",
        {
            "audit.formula_residuals": [
                _day("2026-10-01", "web", ["1", "2", "3", "4", "40", "30", "20", "10"], ["0"] * 20, part="subtotal")
            ],
        },
    )
    assert subtotal["residuals"] == [off - modifiers for off in (1, 2, 3, 4) for modifiers in (0, 40, 30, 20, 10)]


@pytest.mark.duckdb2
def test_months_of_several_currencies(run_table: Run) -> None:
    """A month has several currencies where one of its days has, where its days differ, or where one has none."""
    given = {
        "same": [{}, {}],
        "one has": [{"has_currencies": True}, {}],
        "differ": [{"currency": "BRL"}, {}],
        "none": [{"currency": None}, {}],
    }
    rows = run_table(
        "audit.monthly_formula_residuals",
        {
            "audit.formula_residuals": [
                _day(f"2026-10-{no:02d}", value, ["1"], ["1"], **others)
                for value, days in given.items()
                for no, others in enumerate(days, 1)
            ],
        },
    )
    assert {row["platform"] for row in rows if row["has_currencies"]} == {"one has", "differ", "none"}
    assert {row["currency"] for row in rows if not row["has_currencies"]} == {"EUR"}


@pytest.mark.duckdb2
def test_patterns_of_days_add_up_to_months(run_table: Run) -> None:
    """Orders that tell and fit the same are counted by month, with the three lowest ids; others stay apart."""
    row = {"store_id": 9, "part": "total", "tells": 3, "fits": [1], "orders": 2, "first_order_ids": [5, 7]}
    rows = run_table(
        "audit.monthly_formula_patterns",
        {
            "audit.formula_patterns": [
                row | {"business_date": "2026-10-01"},
                row | {"business_date": "2026-10-31", "first_order_ids": [6, 8]},
                row | {"business_date": "2026-10-31", "fits": [1, 1]},
                row | {"business_date": "2026-11-01"},
                row,
            ],
        },
    )
    found = {(row["business_month"], len(row["fits"])): (row["orders"], row["first_order_ids"]) for row in rows}
    assert found == {
        (dt.date(2026, 10, 1), 1): (4, [5, 6, 7]),
        (dt.date(2026, 10, 1), 2): (2, [5, 7]),
        (dt.date(2026, 11, 1), 1): (2, [5, 7]),
        (None, 1): (2, [5, 7]),
    }
