"""mart.period_books: what each period has in its books, and the check that all of them add up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

PLACE = {"store_id": 5, "sale_class": "counted", "currency": "EUR", "measure": "total_price"}
DAY = PLACE | {"business_date": "2026-10-31", "period": "2026-10", "closed_amount": "10", "posted_amount": "0"}
POSTED = PLACE | {"closed_business_date": "2026-10-31", "posted_period": "2026-11", "is_close_active": True}
AMOUNTS = ("closed_amount", "posted_amount", "reversed_amount", "total_amount")
CLAIM = "mart.period_books__add_up_to_closed_days"


def books(run_table: Run, days: list[dict[str, Any]], restated: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return period → the four amounts."""
    rows = run_table("mart.period_books", {"mart.closed_days": days, "mart.restatements": restated})
    return {row["period"]: [row[name] for name in AMOUNTS] for row in rows}


@pytest.mark.duckdb2
def test_each_amount_is_in_the_period_that_holds_it(run_table: Run) -> None:
    """Closed days by their period; a posting where it was posted, its reversal where it was reversed."""
    restated = [
        POSTED | {"restatement_no": 1, "restatement_amount": "2"},
        POSTED | {"restatement_no": 2, "restatement_amount": "3", "reversed_period": "2026-11"},
        POSTED | {"restatement_no": 3, "restatement_amount": "4", "reversed_period": "2026-12"},
        POSTED | {"restatement_no": 4, "restatement_amount": "5", "posted_period": None},
    ]
    days = [
        DAY,
        DAY | {"business_date": "2026-10-30", "closed_amount": "1"},
        DAY | {"measure": "tip", "closed_amount": "0"},
    ]
    assert books(run_table, days, restated) == {
        "2026-10": [11, 0, 0, 11],
        "2026-11": [0, 9, -3, 6],
        "2026-12": [0, 0, -4, -4],
    }


@pytest.mark.duckdb2
def test_currencies_and_stores_are_not_added_up(run_table: Run) -> None:
    """Each has a row of its own, also a store or a currency that is not known."""
    days = [DAY, DAY | {"currency": "USD"}, DAY | {"store_id": None}, DAY | {"currency": None}]
    rows = run_table("mart.period_books", {"mart.closed_days": days})
    assert sorted((str(row["store_id"]), str(row["currency"]), row["total_amount"]) for row in rows) == [
        ("5", "EUR", 10),
        ("5", "None", 10),
        ("5", "USD", 10),
        ("None", "EUR", 10),
    ]


@pytest.mark.duckdb2
def test_check_finds_books_that_do_not_add_up(run_check: Run) -> None:
    """Less in the periods than closed days have booked, or the same in another currency; unposted is not booked."""
    day = DAY | {"posted_amount": "2", "unposted_amount": "1", "current_amount": "13"}
    book = PLACE | {"period": "2026-10", "total_amount": "12"}
    assert run_check(CLAIM, {"mart.closed_days": [day], "mart.period_books": [book]}) == []
    (found,) = run_check(CLAIM, {"mart.closed_days": [day], "mart.period_books": [book | {"total_amount": "11.9999"}]})
    assert (str(found["residual"]), found["location"]) == ("-0.0001", "store 5, counted, total_price, EUR")
    other = {"mart.closed_days": [day], "mart.period_books": [book | {"currency": "USD"}]}
    assert len(run_check(CLAIM, other)) == 2
    pending = PLACE | {"restatement_amount": "1"}
    later = day | {"current_amount": "14"}
    given = {"mart.closed_days": [later], "mart.period_books": [book], "audit.pending_restatements": [pending]}
    assert run_check(CLAIM, given) == []
