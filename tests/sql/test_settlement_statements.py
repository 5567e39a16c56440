"""mart.settlement_statements: one row per statement and currency."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sql.test_settlement_pairs import ROW

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def test_each_statement_of_a_file_has_a_row(run_table: Run) -> None:
    """Two statements of one file are apart, also one without a reference; unmatched settlements are counted."""
    line = {"entry_no": 1, "component": "items", "currency": "EUR", "amount": 10, "line_date": "2026-10-01"}
    refs = {2: "A", 3: None}
    rows = run_table(
        "mart.settlement_statements",
        {
            "raw.settlement_statements": [
                {
                    "entry_no": 1,
                    "platform": "p",
                    "statement_ref": ref,
                    "currency": "EUR",
                    "imported_at": "2026-11-01T00:00:00Z",
                }
                | {"file": "f.csv", "file_sha256": "0", "amount": 10}
                for ref in refs.values()
            ],
            "raw.settlement_lines": [line | {"source_row": no, "statement_ref": ref} for no, ref in refs.items()],
            "workings.settlement_rows": [ROW | {"settlement_no": no, "statement_ref": ref} for no, ref in refs.items()],
            "workings.settlement_pairs": [{"entry_no": 1, "settlement_no": 2, "order_id": 1, "match_state": "matched"}],
        },
    )
    assert [(row["statement_ref"], row["net_amount"], row["unmatched_count"]) for row in rows] == [
        ("A", 10, 0),
        (None, 10, 1),
    ]
