"""audit.breaks: residuals that are not zero, and what was decided of them."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sql.conftest import Run

BOTH = {
    "order_id": 1,
    "sale_class": "counted",
    "currency": "KWD",
    "total_price": "10",
    "subtotal_residual": "1",
    "total_residual": "-2",
    "total_likely_cause": "tip",
    "verdict": "both_break",
}
TOTAL = {**BOTH, "order_id": 2, "currency": None, "subtotal_residual": None, "verdict": "total_break"}
BALANCED = {**BOTH, "order_id": 3, "subtotal_residual": "0", "total_residual": "0", "verdict": "balanced"}
UNKNOWN = {**BALANCED, "order_id": 4, "total_residual": None, "verdict": "indeterminate"}
ACCEPTED = {"reason": "a coupon", "accepted_by": "anne", "accepted_as": "Anne", "accepted_at": "2026-11-01T00:00:00Z"}


def breaks(run_table: Run, orders: list[dict[str, Any]], *decisions: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the breaks of these orders."""
    return run_table("audit.breaks", {"mart.order_reconciliation": orders, "raw.break_decisions": list(decisions)})


def test_each_residual_that_is_not_zero_has_a_row(run_table: Run) -> None:
    """Two of an order with two; none of an order that is balanced or cannot be tested."""
    rows = breaks(run_table, [BOTH, TOTAL, BALANCED, UNKNOWN])
    columns = ("order_id", "rule_target", "residual", "likely_cause", "currency_digits", "state", "comment_count")
    assert [tuple(row[column] for column in columns) for row in rows] == [
        (1, "subtotal", Decimal(1), None, 3, "open", 0),
        (1, "total", Decimal(-2), "tip", 3, "open", 0),
        (2, "total", Decimal(-2), "tip", None, "open", 0),
    ]


def test_a_break_is_accepted_while_its_amounts_are_the_same(run_table: Run) -> None:
    """Accepted with its content; changed once an amount differs; what was decided stays beside it."""
    content = breaks(run_table, [BOTH])[0]["content"]
    decision = ACCEPTED | {"break_key": "order:1", "content": content, "assignee": "Ben", "comment_count": 2}
    for order, state in ((BOTH, "accepted"), (BOTH | {"sale_class": "excluded"}, "accepted")):
        assert {row["state"] for row in breaks(run_table, [order], decision)} == {state}
    for amount in ("total_price", "tip", "line_amount", "subtotal_residual", "currency"):
        changed = BOTH | {amount: "EUR" if amount == "currency" else "7"}
        for row in breaks(run_table, [changed], decision):
            assert row["state"] == "changed", amount
            assert (row["reason"], row["accepted_by"], row["accepted_as"]) == ("a coupon", "anne", "Anne")
            assert (row["assignee"], row["comment_count"], row["accepted_at"].day) == ("Ben", 2, 1)
    assert breaks(run_table, [BOTH], {"break_key": "order:1", "assignee": "Ben"})[0]["state"] == "open"
