"""mart.order_settlements: what an order leaves open, and since when that is due."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from tests.sql.test_settlement_pairs import ORDER, ROW

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def test_open_settled_and_differing_orders(run_table: Run) -> None:
    """An order of an unsettled platform has no row; a candidate is unknown, not open; lines say which are due."""
    orders = [ORDER | {"order_id": no, "business_date": "2026-10-01"} for no in range(1, 6)]
    orders[4] |= {"platform": "phone"}
    pairs = [(1, 2, "matched"), (2, 3, "matched"), (3, 4, "one_of")]
    rows = run_table(
        "mart.order_settlements",
        {
            "mart.orders": orders,
            "workings.settlement_rows": [
                ROW | {"settlement_no": 2, "last_line_date": "2026-10-15", "cost_amount": -1, "net_amount": 9},
                ROW | {"settlement_no": 3, "gross_amount": "9.99", "net_amount": "9.99"},
                ROW | {"settlement_no": 4},
            ],
            "workings.settlement_pairs": [
                {
                    "entry_no": 1,
                    "settlement_no": no,
                    "order_id": order,
                    "match_state": state,
                    "match_id": f"line:1/{no}",
                }
                | {"match_rule": "order_id"}
                for order, no, state in pairs
            ],
            "raw.settlement_statements": [
                {"entry_no": 1, "platform": "p", "order_platforms": ["web"], "due_days": 14, "timezone": "store"}
            ],
        },
    )
    assert [(row["order_id"], row["settlement_state"], row["open_amount"], row["net_amount"]) for row in rows] == [
        (1, "settled", 0, 9),
        (2, "differs", Decimal("0.01"), Decimal("9.99")),
        (3, "unknown", None, 0),
        (4, "open", 10, 0),
    ]
    assert {row["is_due"] for row in rows} == {True}
