"""mart.settlement_matches: ours beside theirs; what names nothing of ours is said."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from tests.sql.test_settlement_pairs import ORDER, ROW

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def test_ours_and_theirs(run_table: Run) -> None:
    """One cent less is a difference of one cent; an unknown id is not ours; a fee names no order."""
    rows = [ROW | {"gross_amount": "9.99"}, ROW | {"settlement_no": 3, "order_id": 99, "order_ref": "99"}]
    rows.append(ROW | {"settlement_no": 4, "statement_kind": "fee", "order_id": None, "order_ref": None})
    pair = {"entry_no": 1, "settlement_no": 2, "order_id": 1, "match_rule": "order_id", "match_state": "matched"}
    found = run_table(
        "mart.settlement_matches",
        {
            "workings.settlement_rows": rows,
            "workings.settlement_pairs": [pair | {"match_id": "line:1/2"}],
            "mart.settlement_lines": [
                {"entry_no": 1, "settlement_no": no, "match_id": f"line:1/{no}"} for no in (2, 3, 4)
            ],
            "mart.orders": [ORDER],
        },
    )
    assert [(row["match_state"], row["match_rule"], row["difference"]) for row in found] == [
        ("matched", "order_id", Decimal("0.01")),
        ("not_ours", "none", None),
        ("no_order", "none", None),
    ]
