"""audit.closed_day_totals: what the seals in force hold, by store, day and class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Given = dict[str, list[dict[str, Any]]]
    Run = Callable[[str, Given], list[dict[str, Any]]]

PLACE = {"store_id": 5, "business_date": "2026-10-31", "sale_class": "counted"}
ORDER = {"order_id": 1, **PLACE, "tip": "1", "total_price": "10"}
SEAL = {"business_date": "2026-10-31", "is_every_store": True, "close_entry_no": 1}


def test_added_up_under_the_seal_in_force(run_table: Run) -> None:
    """Orders of an earlier seal are left out; a part that no order states has no sum."""
    sealed = [
        ORDER | {"close_entry_no": 1},
        ORDER | {"close_entry_no": 1, "order_id": 2, "currency": "EUR"},
        ORDER | {"close_entry_no": 9},
    ]
    (row,) = run_table("audit.closed_day_totals", {"raw.day_closes": [SEAL], "raw.closed_orders": sealed})
    assert (row["orders"], row["tip"], row["total_price"], row["discount"]) == (2, 2, 20, None)
    assert row["currency"] == "EUR"


def test_the_fingerprint_is_that_of_the_same_orders_now(run_table: Run) -> None:
    """Orders that are as they were sealed have the fingerprint of audit.daily_fingerprints."""
    orders = [ORDER, ORDER | {"order_id": 2, "line_amount": "5.25"}]
    (now,) = run_table("audit.daily_fingerprints", {"mart.order_reconciliation": orders})
    sealed = [each | {"close_entry_no": 1} for each in orders]
    (then,) = run_table("audit.closed_day_totals", {"raw.day_closes": [SEAL], "raw.closed_orders": sealed})
    assert then["fingerprint"] == now["fingerprint"]


def test_a_store_of_its_own(run_table: Run) -> None:
    """A store that was sealed again counts by that seal, one that was reopened not at all."""
    own = {"business_date": "2026-10-31", "store_id": 5, "is_every_store": False}
    sealed = [ORDER | {"close_entry_no": 1}, ORDER | {"close_entry_no": 2, "tip": "7"}]
    (row,) = run_table(
        "audit.closed_day_totals", {"raw.day_closes": [SEAL, own | {"close_entry_no": 2}], "raw.closed_orders": sealed}
    )
    assert row["tip"] == 7
    assert run_table("audit.closed_day_totals", {"raw.day_closes": [SEAL, own], "raw.closed_orders": sealed}) == []
