"""workings.settlement_keys: ids that exist are no evidence; store, day and amount are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sql.test_settlement_pairs import ORDER, ROW

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def test_a_reference_of_existing_ids_is_not_the_key(run_table: Run) -> None:
    """Order and payout are ids of orders on both rows; only one has their store, day and amount."""
    rows = [ROW | {"settlement_no": no, "order_ref": str(no), "payout_ref": str(no + 2)} for no in (2, 3)]
    orders = [
        ORDER | {"order_id": no, "business_date": "2026-10-01", "total_price": "10" if no < 4 else "11"}
        for no in (2, 3, 4, 5)
    ]
    orders[3] |= {"store_id": 8, "business_date": "2026-10-02"}
    fee = ROW | {"settlement_no": 9, "statement_kind": "fee", "order_ref": "2"}
    found = run_table("workings.settlement_keys", {"workings.settlement_rows": [*rows, fee], "mart.orders": orders})
    counts = ("value_count", "known_count", "same_store_count", "same_day_count", "same_amount_count")
    assert {row["reference"]: tuple(row[name] for name in counts) for row in found} == {
        "order": (2, 2, 2, 2, 2),
        "payout": (2, 2, 1, 1, 0),
        "statement": (0, 0, 0, 0, 0),
    }
