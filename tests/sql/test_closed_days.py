"""Sealed days beside what is there now, and the claims that they add up, each with a planted fault."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Given = dict[str, list[dict[str, Any]]]
    Run = Callable[[str, Given], list[dict[str, Any]]]

DAY = "2026-10-31"
PLACE = {"store_id": 5, "business_date": DAY, "sale_class": "counted"}
SEALS = [{"business_date": DAY, "is_every_store": True, "close_entry_no": 1, "closed_at": "2026-11-02T00:00:00Z"}]
SEALED = {"close_entry_no": 1, "order_id": 1, **PLACE, "total_price": "10"}
RESTATED = {
    "order_id": 1,
    "closed_business_date": DAY,
    "store_id": 5,
    "sale_class": "counted",
    "part": "total_price",
    "is_close_active": True,
}


@pytest.mark.duckdb2
def test_a_sealed_day(run_table: Run) -> None:
    """What was sealed, posted, is open and is there now stand side by side; a reopened seal's rows do not."""
    rows = run_table(
        "mart.closed_days",
        {
            "raw.day_closes": SEALS,
            "audit.closed_day_totals": run_table(
                "audit.closed_day_totals",
                {"raw.day_closes": SEALS, "raw.closed_orders": [SEALED, SEALED | {"close_entry_no": 9, "order_id": 2}]},
            ),
            "mart.daily_reconciliations": [{**PLACE, "orders": 1, "total_price": "13"}],
            "mart.restatements": [
                RESTATED | {"difference": "1", "posted_period": "2026-11"},
                RESTATED | {"difference": "2"},
                RESTATED | {"difference": "50", "is_close_active": False},
            ],
        },
    )
    (total,) = [row for row in rows if row["part"] == "total_price"]
    assert [total[name] for name in ("sealed", "posted", "open", "now")] == [10, 1, 2, 13]
    (orders,) = [row for row in rows if row["part"] == "orders"]
    assert [orders[name] for name in ("sealed", "posted", "open", "now")] == [1, 0, 0, 1]


@pytest.mark.duckdb2
def test_another_currency_is_found(run_check: Run, run_table: Run) -> None:
    """A store whose currency changed has the same amounts in another one: it is told; a label where none was is not."""
    claim = "mart.closed_days__keep_their_currency"
    for sealed, now, found in (("EUR", "USD", 1), ("EUR", None, 1), ("EUR", "EUR", 0), (None, "EUR", 0)):
        given = {
            "audit.closed_day_totals": [{**PLACE, "orders": 1, "currency": sealed}],
            "mart.daily_reconciliations": [{**PLACE, "orders": 1, "currency": now}],
        }
        assert len(run_check(claim, given)) == found
        rows = run_table("mart.closed_days", {"raw.day_closes": SEALS, **given})
        assert {row["currency"] for row in rows} == {sealed or now}


CLEAN = {**PLACE, "part": "tip", "sealed": "10", "posted": "1", "open": "2", "now": "13"}


@pytest.mark.duckdb2
@pytest.mark.parametrize("column", ["sealed", "posted", "open", "now"])
def test_a_cent_that_is_missing_is_found(run_check: Run, column: str) -> None:
    """A hundredth of a cent too much in any of the four is found, and the recorded differences close the gap."""
    claim = "mart.closed_days__add_up"
    assert run_check(claim, {"mart.closed_days": [CLEAN]}) == []
    planted = CLEAN | {column: str(Decimal(CLEAN[column]) + Decimal("0.0001"))}
    (found,) = run_check(claim, {"mart.closed_days": [planted]})
    assert abs(found["residual"]) == Decimal("0.0001")
    assert found["location"] == "2026-10-31, store 5, counted, tip"
    mended = {**PLACE, "part": "tip", "difference": str(found["residual"])}
    assert run_check(claim, {"mart.closed_days": [planted], "audit.pending_restatements": [mended]}) == []
    assert len(run_check(claim, {"audit.pending_restatements": [mended]})) == 1


@pytest.mark.duckdb2
def test_a_sealed_day_that_is_not_the_days_sales_is_found(run_check: Run) -> None:
    """An order or a cent that the day's sales have and the sealed day lacks is found; a day without sales ties."""
    claim = "mart.closed_days__tie_to_daily_sales"
    days = [{**PLACE, "part": "orders", "now": "2"}, {**PLACE, "part": "total_price", "now": "7"}]
    sales = {**PLACE, "order_count": 2, "total_price": "7"}
    assert run_check(claim, {"mart.closed_days": days, "mart.daily_store_sales": [sales]}) == []
    for change in ({"order_count": 3}, {"total_price": "7.0001"}, {"sale_class": "deleted"}):
        assert len(run_check(claim, {"mart.closed_days": days, "mart.daily_store_sales": [sales | change]})) == 1
    empty = [{**PLACE, "part": "orders", "now": "0"}, {**PLACE, "part": "total_price", "now": "0"}]
    assert run_check(claim, {"mart.closed_days": empty}) == []
