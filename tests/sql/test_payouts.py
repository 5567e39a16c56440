"""mart.payouts: stated beside the bank, by reference alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def test_a_payout_is_paid_by_its_reference_alone(run_table: Run) -> None:
    """The same amount under another reference pays nothing; the bank's file says how far it goes, and its fees."""
    line = {"entry_no": 1, "component": "items", "platform": "p", "line_date": "2026-10-01", "settled_currency": "EUR"}
    lines = [
        line | {"source_row": no, "payout_ref": ref, "settled_amount": no} for no, ref in ((2, "A"), (3, "B"), (4, "C"))
    ]
    credit = {"entry_no": 2, "platform": "p", "currency": "EUR", "bank_date": "2026-10-03"}
    rows = run_table(
        "mart.payouts",
        {
            "mart.settlement_lines": lines,
            "raw.settlement_statements": [{"platform": "p", "due_days": 14}],
            "raw.bank_files": [{"entry_no": 2, "platform": "p", "last_day": "2026-10-15"}],
            "raw.bank_payouts": [
                credit | {"payout_ref": ref, "amount": amount, "fee_amount": "0.25" if ref == "A" else 0}
                for ref, amount in (("A", "1.50"), ("B", "2.99"), ("Z", 4))
            ],
            "mart.settlement_statements": [
                {"platform": "p", "payout_ref": "A", "currency": "EUR", "net_amount": 2, "paid_amount": "1.75"}
            ],
        },
    )
    assert [(row["payout_ref"], row["payout_state"], row["is_due"]) for row in rows] == [
        ("A", "paid", True),
        ("B", "differs", True),
        ("C", "not_at_bank", True),
        ("Z", "not_stated", False),
    ]
