"""mart.closed_days: amounts at close, posted, unposted and current, and its checks, each with a planted fault."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

DAY = "2026-10-31"
AMOUNTS = ("closed_amount", "posted_amount", "unposted_amount", "current_amount")
PLACE = {"store_id": 5, "business_date": DAY, "sale_class": "counted"}
CLOSES = [
    {
        "business_date": DAY,
        "is_every_store": True,
        "close_entry_no": 1,
        "closed_at": "2026-11-02T00:00:00Z",
        "period": "2026-10",
    }
]
CLOSED = {"close_entry_no": 1, "order_id": 1, **PLACE, "total_price": "10"}
RESTATED = {
    "order_id": 1,
    "closed_business_date": DAY,
    "store_id": 5,
    "sale_class": "counted",
    "measure": "total_price",
    "is_close_active": True,
}


@pytest.mark.duckdb2
def test_closed_days_show_all_amounts(run_table: Run) -> None:
    """Closed, posted, unposted and current amounts are shown; restatements of an inactive close are not."""
    rows = run_table(
        "mart.closed_days",
        {
            "raw.day_closes": CLOSES,
            "workings.closed_day_totals": run_table(
                "workings.closed_day_totals",
                {
                    "raw.day_closes": CLOSES,
                    "raw.closed_orders": [CLOSED, CLOSED | {"close_entry_no": 9, "order_id": 2}],
                },
            ),
            "audit.pending_restatements": [],
            "mart.restatements": [
                RESTATED | {"restatement_amount": "1", "posted_period": "2026-11"},
                RESTATED | {"restatement_amount": "2"},
                RESTATED | {"restatement_amount": "50", "is_close_active": False},
            ],
        },
    )
    (total,) = [row for row in rows if row["measure"] == "total_price"]
    assert [total[name] for name in AMOUNTS] == [10, 1, 2, 13]
    (orders,) = [row for row in rows if row["measure"] == "order_count"]
    assert [orders[name] for name in AMOUNTS] == [1, 0, 0, 1]


@pytest.mark.duckdb2
def test_another_currency_is_another_row(run_table: Run) -> None:
    """Closed in EUR and now in USD: the EUR are closed and restated away, the USD restated and current."""
    closed = {**PLACE, "order_count": 1, "total_price": "10", "currency": "EUR"}
    moved = [
        RESTATED | {"restatement_amount": amount, "currency": name} for name, amount in (("EUR", -10), ("USD", 10))
    ]
    rows = run_table(
        "mart.closed_days",
        {
            "raw.day_closes": CLOSES,
            "workings.closed_day_totals": [closed],
            "mart.restatements": moved,
        },
    )
    found = {row["currency"]: [row[name] for name in AMOUNTS] for row in rows if row["measure"] == "total_price"}
    assert found == {"EUR": [10, 0, -10, 0], "USD": [0, 0, 10, 10]}


CLEAN = {**PLACE, "measure": "tip", **dict(zip(AMOUNTS, ("10", "1", "2", "13"), strict=True))}


@pytest.mark.duckdb2
@pytest.mark.parametrize("column", AMOUNTS)
def test_identity_check_finds_a_difference(run_check: Run, column: str) -> None:
    """A hundredth of a cent too much in any amount is found, and pending restatements close the gap."""
    claim = "mart.closed_days__add_up"
    planted = CLEAN | {column: str(Decimal(CLEAN[column]) + Decimal("0.0001"))}
    day = {**PLACE, "order_count": 0, "tip": planted["current_amount"]}
    given = {"raw.day_closes": CLOSES, "mart.daily_reconciliations": [day]}
    clean = given | {"mart.daily_reconciliations": [day | {"tip": "13"}], "mart.closed_days": [CLEAN]}
    assert run_check(claim, clean) == []
    (found,) = run_check(claim, given | {"mart.closed_days": [planted]})
    assert abs(found["residual"]) == Decimal("0.0001")
    assert found["location"] == "2026-10-31, store 5, counted, tip"
    pending = {**PLACE, "measure": "tip", "restatement_amount": str(found["residual"])}
    assert run_check(claim, given | {"mart.closed_days": [planted], "audit.pending_restatements": [pending]}) == []
    assert len(run_check(claim, {"audit.pending_restatements": [pending]})) == 1


@pytest.mark.duckdb2
def test_identity_check_finds_what_the_platforms_lack(run_check: Run) -> None:
    """All platforms of a closed day are its current total; an amount that is missing is found."""
    claim = "mart.closed_days__add_up"
    rows = [CLEAN | {"platform": name} for name in ("web", None)]
    day = {**PLACE, "order_count": 0, "tip": "26", "subtotal_price": "0"}
    given = {"raw.day_closes": CLOSES, "mart.daily_reconciliations": [day]}
    assert run_check(claim, given | {"mart.closed_days": rows}) == []
    (found,) = run_check(claim, given | {"mart.closed_days": rows[:1]})
    assert (found["residual"], found["location"]) == (-13, "2026-10-31, store 5, counted, tip")
    assert run_check(claim, {"mart.daily_reconciliations": [day], "raw.day_closes": []}) == []
