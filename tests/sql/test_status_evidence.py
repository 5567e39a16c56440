"""audit.status_evidence: what orders of a status look like, and what became of them."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[[str, dict[str, list[dict[str, Any]]]], list[dict[str, Any]]]

MOST = "99999999999999.9999"


def order(order_id: int, status: str | None, total: str | None, hours: int = 2, **others: Any) -> dict[str, Any]:
    """Return a row of mart.orders that was last looked at so many hours after it was created."""
    return {
        "order_id": order_id,
        "status": status,
        "currency": "EUR",
        "sale_class": "unmapped",
        "is_gone": False,
        "total_price": total,
        "created_at": "2026-10-01T00:00:00Z",
        "last_checked_at": f"2026-10-{1 + hours // 24:02d}T{hours % 24:02d}:00:00Z",
        **others,
    }


@pytest.mark.duckdb2
def test_orders_money_and_age(run_table: Run) -> None:
    """Orders, zero and unstated totals, exact money and age stand by status; currencies never add."""
    rows = run_table(
        "audit.status_evidence",
        {
            "mart.orders": [
                order(1, "done", MOST, 24 * 7),
                order(2, "done", "0.0001", 30),
                order(3, "done", "0", 30),
                order(4, "done", None, 1, sale_class="gone", is_gone=True),
                order(5, "done", "5", currency="BRL"),
                order(6, None, "1"),
            ]
        },
    )
    shown = ("status", "currency", "orders", "gone_count", "zero_count", "unstated_count", "total_price")
    assert [tuple(row[each] for each in shown) for row in rows] == [
        ("done", "BRL", 1, 0, 0, 0, 5),
        ("done", "EUR", 4, 1, 1, 1, Decimal(10) ** 14),
        (None, "EUR", 1, 0, 0, 0, 1),
    ]
    assert (rows[1]["median_age_hours"], rows[1]["week_old_count"], rows[1]["sale_class"]) == (30, 1, "unmapped")


def test_what_became_of_them(run_table: Run) -> None:
    """Changes that were seen are counted, the most frequent first; a status that no order has any more stays."""
    seen = [
        {"status_of": "order", "status_before": "new", "status": "done", "times": 2},
        {"status_of": "order", "status_before": "new", "status": None, "times": 3},
        {"status_of": "delivery", "status_before": "new", "status": "lost", "times": 9},
    ]
    rows = run_table(
        "audit.status_evidence", {"mart.orders": [order(1, "done", "1")], "audit.observed_transitions": seen}
    )
    assert [(row["status"], row["orders"], row["moved_on_count"], row["moved_on_to"]) for row in rows] == [
        ("done", 1, 0, []),
        ("new", 0, 5, ["(none): 3", "done: 2"]),
    ]
