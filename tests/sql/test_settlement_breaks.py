"""audit.settlement_breaks: one row per break, due ones only, with what was decided of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sql.test_settlement_pairs import ROW

if TYPE_CHECKING:
    from tests.sql.conftest import Run

ORDER = {"platform": "p", "currency": "EUR", "settlement_state": "open", "is_due": True, "open_amount": 10}
MATCH = {"platform": "p", "currency": "EUR", "line_date": "2026-10-01", "their_amount": 7, "difference": "0.01"}
MATCH |= {"statement_kind": "order"}
PAYOUT = {"platform": "p", "currency": "EUR", "payout_state": "not_at_bank", "is_due": True, "stated_amount": 5}

RATE = {"platform": "p", "store_id": 7, "currency": "EUR", "from_date": "2026-10-01"}
CHARGED = RATE | {"entry_no": 1, "expected_amount": "1.35"}


def test_breaks_have_kind_amount_and_state(run_table: Run) -> None:
    """An order or payout that is not due has none; one accepted with another amount has changed."""
    given = {
        "mart.order_settlements": [
            ORDER | {"order_id": 1},
            ORDER | {"order_id": 2, "is_due": False},
            ORDER | {"order_id": 3, "settlement_state": "differs", "is_due": False, "open_amount": "0.01"},
            ORDER | {"order_id": 4, "settlement_state": "settled"},
            ORDER | {"order_id": 5, "settlement_state": "settled", "is_late": True, "settled_amount": 8},
        ],
        "mart.settlement_matches": [
            MATCH | {"match_id": f"line:1/{no}", "match_state": state, "entry_no": 1, "settlement_no": 10 + no}
            for no, state in enumerate(("matched", "group", "no_order", "one_of", "differs", "not_ours"))
        ],
        "mart.payouts": [
            PAYOUT | {"payout_ref": "A"},
            PAYOUT | {"payout_ref": "B", "is_due": False},
            PAYOUT | {"payout_ref": "C", "payout_state": "paid", "is_late": True, "difference": 0},
        ],
        "workings.settlement_rows": [
            *(ROW | {"settlement_no": no} for no in (7, 8)),
            *(ROW | {"settlement_no": 10 + no} for no in range(6)),
        ],
        "workings.settlement_commissions": [
            CHARGED | {"settlement_no": 7, "charged_amount": "1.35", "is_agreeing": True},
            CHARGED | {"settlement_no": 8, "charged_amount": "1.36", "is_agreeing": False},
        ],
        "mart.settlement_rates": [RATE | {"is_in_force": True}],
    }
    rows = run_table("audit.settlement_breaks", given)
    assert [(row["break_key"], row["break_kind"], float(row["amount"]), row["state"]) for row in rows] == [
        ("commission:1/8", "wrong_commission", 0.01, "open"),
        ("line:1/3", "one_of", 0.01, "open"),
        ("line:1/4", "period_differs", 0.01, "open"),
        ("line:1/5", "not_ours", 7, "open"),
        ("payout:p/A/EUR", "not_at_bank", 5, "open"),
        ("payout:p/C/EUR", "late", 5, "open"),
        ("settlement:p/1", "never_settled", 10, "open"),
        ("settlement:p/3", "amount_differs", 0.01, "open"),
        ("settlement:p/5", "late", 8, "open"),
    ]
    decided = [{"break_key": row["break_key"], "content": row["content"]} for row in rows[:2]]
    decided[1]["content"] = "another amount"
    again = run_table("audit.settlement_breaks", given | {"raw.break_decisions": decided})
    assert [row["state"] for row in again] == ["accepted", "changed", *["open"] * 7]
