"""mart.settlement_lines: each line of a file with its match, also of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def test_lines_have_their_match(run_table: Run) -> None:
    """A line without a pair is its own match; those of a group share it."""
    settlement = {
        "entry_no": 3,
        "statement_kind": "order",
        "platform": "p",
        "currency": "EUR",
        "line_date": "2026-10-01",
    }
    amounts = dict.fromkeys(("gross_amount", "refund_amount", "cost_amount", "net_amount"), 1) | {"window_minutes": 0}
    amounts |= {"commission_bases": [1], "commission_amount": 0, "sold_on": "2026-10-01"}
    amounts |= {"settled_currency": "EUR"}
    line = {"entry_no": 3, "kind": "order", "component": "gross", "currency": "EUR", "amount": 1}
    line |= {"settled_currency": "EUR", "settled_amount": 1, "line_date": "2026-10-01"}
    rows = run_table(
        "mart.settlement_lines",
        {
            "raw.settlement_lines": [line | {"source_row": no, "settlement_no": no} for no in (2, 3, 4)],
            "workings.settlement_rows": [settlement | amounts | {"settlement_no": no} for no in (2, 3, 4)],
            "workings.settlement_pairs": [
                {"entry_no": 3, "settlement_no": no, "order_id": order, "match_id": "group:3/3"}
                for no in (3, 4)
                for order in (8, 9)
            ],
        },
    )
    assert [(row["source_row"], row["match_id"]) for row in rows] == [
        (2, "line:3/2"),
        (3, "group:3/3"),
        (4, "group:3/3"),
    ]
