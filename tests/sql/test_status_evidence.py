"""audit.status_evidence: what orders of a status look like, and what became of them."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

MOST = "99999999999999.9999"


def day(date: str, status: str | None, ages: dict[int | None, int], **others: Any) -> list[dict[str, Any]]:
    """Return rows of workings.daily_statuses, one for each age; the first has the given values besides."""
    return [
        {
            "business_date": date,
            "status": status,
            "currency": others.get("currency", "EUR"),
            "age_hours": age,
            "sale_class": "unmapped",
            "order_count": count,
            "deleted_count": 0,
            "zero_total_count": 0,
            "missing_total_count": 0,
            "week_old_count": 0,
        }
        | (others if place == 0 else {})
        for place, (age, count) in enumerate(ages.items())
    ]


@pytest.mark.duckdb2
def test_orders_money_and_age(run_table: Run) -> None:
    """Days add up by status, money exact, the middle age one that was met; currencies never add."""
    rows = run_table(
        "audit.status_evidence",
        {
            "workings.daily_statuses": [
                *day("2026-10-01", "done", {1: 1, 30: 1}, total_price=MOST, week_old_count=1, deleted_count=1),
                *day("2026-10-02", "done", {30: 1, 400: 1}, total_price="0.0001", sale_class=None, zero_total_count=1),
                *day("2026-10-02", "done", {7: 1}, total_price="5", currency="BRL"),
                *day("2026-10-03", "done", {9: 2, 8: 1}, currency="SEK"),
                *day("2026-10-03", "done", {9: 2, 8: 2}, currency="USD"),
                *day("2026-10-03", None, {None: 1}, total_price="1"),
            ]
        },
    )
    shown = ("status", "currency", "order_count", "deleted_count", "zero_total_count", "week_old_count", "total_price")
    assert [tuple(row[each] for each in shown) for row in rows] == [
        ("done", "BRL", 1, 0, 0, 0, 5),
        ("done", "EUR", 4, 1, 1, 1, Decimal(10) ** 14),
        ("done", "SEK", 3, 0, 0, 0, None),
        ("done", "USD", 4, 0, 0, 0, None),
        (None, "EUR", 1, 0, 0, 0, 1),
    ]
    assert [row["median_age_hours"] for row in rows] == [7, 30, 9, 8, None]
    assert rows[1]["sale_class"] == "unmapped"


def test_what_became_of_them(run_table: Run) -> None:
    """Changes that were seen are counted, the most frequent first; a status that no order has any more stays."""
    seen: list[dict[str, Any]] = [
        {"entity_type": "order", "previous_status": "new", "status": "done", "occurrence_count": 2},
        {"entity_type": "order", "previous_status": "new", "status": None, "occurrence_count": 3},
        {"entity_type": "delivery", "previous_status": "new", "status": "lost", "occurrence_count": 9},
    ]
    rows = run_table(
        "audit.status_evidence",
        {"workings.daily_statuses": day("2026-10-01", "done", {2: 1}), "audit.status_transitions": seen},
    )
    assert [(row["status"], row["order_count"], row["transitioned_count"], row["next_statuses"]) for row in rows] == [
        ("done", 1, 0, []),
        ("new", 0, 5, ["(none): 3", "done: 2"]),
    ]


def test_the_share_that_moved_on(run_table: Run) -> None:
    """Of the times that a status was met, those that another followed; orders of every currency have it still."""
    seen = {"entity_type": "order", "previous_status": "new", "status": "done", "occurrence_count": 3}
    days = [*day("2026-10-01", "new", {2: 4}), *day("2026-10-01", "new", {2: 5}, currency="BRL")]
    days += day("2026-10-01", "done", {2: 3})
    given = {"workings.daily_statuses": days, "audit.status_transitions": [seen, seen | {"previous_status": "lost"}]}
    rows = run_table("audit.status_evidence", given)
    assert [(row["status"], row["currency"], row["transition_rate"]) for row in rows] == [
        ("done", "EUR", 0),
        ("lost", None, 1),
        ("new", "BRL", 0.25),
        ("new", "EUR", 0.25),
    ]
