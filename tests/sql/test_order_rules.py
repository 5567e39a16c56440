"""audit.order_rules: which rule holds for an order, from the narrowest scope in which anything is decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[[str, dict[str, list[dict[str, Any]]]], list[dict[str, Any]]]

ORDER = {
    "order_id": 1,
    "platform": "web",
    "dispatch_method": "pick_up",
    "store_id": 7,
    "business_date": "2026-10-31",
}
SCOPES = {"platform": "web", "dispatch_method": "pick_up", "store": "7", "month": "2026-10", "all": "all"}


def decided(scope: str, value: str | None, rule: str | None = None, part: str = "subtotal") -> dict[str, Any]:
    """Return a row of audit.formula_rules_in_force; the rule is named after the scope."""
    return {
        "part": part,
        "scope": scope,
        "scope_value": value,
        "rule": rule,
        "source": "evidence",
        "is_action_open": scope == "store",
    }


@pytest.mark.duckdb2
def test_the_narrowest_scope_holds(run_table: Run) -> None:
    """Of platform, dispatch method, store, month and all the first in which a rule is decided holds."""
    rows = [decided(scope, value, scope) for scope, value in SCOPES.items()]
    others = [decided(scope, "another", "wrong") for scope in list(SCOPES)[:-1]]
    for first, scope in enumerate(SCOPES):
        given = {"mart.orders": [ORDER], "audit.formula_rules_in_force": [*others, *rows[first:]]}
        (row,) = run_table("audit.order_rules", given)
        assert (row["subtotal_rule"], row["subtotal_rule_source"]) == (scope, "evidence")
        assert row["is_action_open"] == (scope == "store")


def test_a_refuted_rule_is_an_answer(run_table: Run) -> None:
    """Where a platform refutes the rule of all and supports none, there is none; a missing platform is one too."""
    given = {
        "mart.orders": [ORDER, ORDER | {"order_id": 2, "platform": None}, ORDER | {"order_id": 3, "platform": "ios"}],
        "audit.formula_rules_in_force": [
            decided("all", "all", "wide", "total"),
            decided("platform", "web", None, "total"),
            decided("platform", None, "own", "total"),
        ],
    }
    rows = run_table("audit.order_rules", given)
    assert [(row["total_rule"], row["total_rule_source"]) for row in rows] == [
        (None, "evidence"),
        ("own", "evidence"),
        ("wide", "evidence"),
    ]


def test_what_is_assumed_without_evidence(run_table: Run) -> None:
    """Where nothing is decided the total is taken as in the observed order, and says so; lines have no rule."""
    nowhere = {"order_id": 1}
    (row,) = run_table("audit.order_rules", {"mart.orders": [nowhere]})
    assert (row["total_rule"], row["total_rule_source"]) == ("observed/unrounded", "assumed")
    assert (row["subtotal_rule"], row["subtotal_rule_source"], row["is_action_open"]) == (None, None, False)
