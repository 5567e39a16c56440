"""workings.closed_day_totals: totals of the active closes by store, day and sale class."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.sql.conftest import Run

PLACE = {"store_id": 5, "business_date": "2026-10-31", "sale_class": "counted"}
ORDER = {"order_id": 1, **PLACE, "tip": "1", "total_price": "10", "currency": "EUR"}
CLOSE = {"business_date": "2026-10-31", "is_every_store": True, "close_entry_no": 1}


def test_only_orders_of_the_active_close_are_added(run_table: Run) -> None:
    """Orders of an inactive close are excluded; a price that no order states is null."""
    closed = [
        ORDER | {"close_entry_no": 1},
        ORDER | {"close_entry_no": 1, "order_id": 2},
        ORDER | {"close_entry_no": 9},
    ]
    (row,) = run_table("workings.closed_day_totals", {"raw.day_closes": [CLOSE], "raw.closed_orders": closed})
    assert (row["order_count"], row["tip"], row["total_price"], row["discount"]) == (2, 2, 20, None)
    assert row["currency"] == "EUR"


def test_unchanged_orders_have_an_equal_fingerprint(run_table: Run) -> None:
    """Unchanged orders have the same fingerprint as in workings.daily_fingerprints."""
    orders = [ORDER, ORDER | {"order_id": 2, "line_amount": "5.25"}]
    (now,) = run_table("workings.daily_fingerprints", {"mart.order_reconciliation": orders})
    closed = [order | {"close_entry_no": 1} for order in orders]
    (then,) = run_table("workings.closed_day_totals", {"raw.day_closes": [CLOSE], "raw.closed_orders": closed})
    assert then["fingerprint"] == now["fingerprint"]


def test_a_separately_closed_store(run_table: Run) -> None:
    """A store closed again counts by its own close; a reopened store does not count."""
    own = {"business_date": "2026-10-31", "store_id": 5, "is_every_store": False}
    closed = [ORDER | {"close_entry_no": 1}, ORDER | {"close_entry_no": 2, "tip": "7"}]
    (row,) = run_table(
        "workings.closed_day_totals",
        {"raw.day_closes": [CLOSE, own | {"close_entry_no": 2}], "raw.closed_orders": closed},
    )
    assert row["tip"] == 7
    assert run_table("workings.closed_day_totals", {"raw.day_closes": [CLOSE, own], "raw.closed_orders": closed}) == []
