"""mart.payouts: stated beside the bank, by reference alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def test_a_payout_is_paid_by_its_reference_alone(run_table: Run) -> None:
    """The same amount under another reference pays nothing; a file of the bank says how far it goes."""
    line = {"entry_no": 1, "component": "items", "platform": "p", "currency": "EUR", "line_date": "2026-10-01"}
    lines = [line | {"source_row": no, "payout_ref": ref, "amount": no} for no, ref in ((2, "A"), (3, "B"), (4, "C"))]
    credit = {"entry_no": 2, "platform": "p", "currency": "EUR", "bank_date": "2026-10-03"}
    rows = run_table(
        "mart.payouts",
        {
            "mart.settlement_lines": lines,
            "raw.settlement_statements": [{"platform": "p", "due_days": 14}],
            "raw.bank_files": [{"entry_no": 2, "platform": "p", "last_day": "2026-10-15"}],
            "raw.bank_payouts": [
                credit | {"payout_ref": ref, "amount": amount} for ref, amount in (("A", 2), ("B", "2.99"), ("Z", 4))
            ],
        },
    )
    assert [(row["payout_ref"], row["payout_state"], row["is_due"]) for row in rows] == [
        ("A", "paid", True),
        ("B", "differs", True),
        ("C", "not_at_bank", True),
        ("Z", "not_stated", False),
    ]
