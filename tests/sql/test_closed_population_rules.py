"""audit.closed_population_rules: what the population of an order that is new to a closed day was closed with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[[str, dict[str, list[dict[str, Any]]]], list[dict[str, Any]]]

DAY = "2026-10-31"
RULE = {"close_entry_no": 4, "rule_target": "total", "scope": "population", "scope_value": "platform web"}


def rules(run_table: Run, rule: dict[str, Any], **tables: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return order, rule, basis and open parts where order 1 was closed and order 2 came later."""
    population = {"rule_target": "total", "population_no": 3, "scope": "platform web"}
    given = {
        "mart.orders": [{"order_id": number, "store_id": 7, "business_date": DAY} for number in (1, 2)],
        "raw.day_closes": [{"business_date": DAY, "is_every_store": True, "close_entry_no": 4}],
        "raw.closed_orders": [{"close_entry_no": 4, "order_id": 1, "store_id": 7, "business_date": DAY}],
        "audit.order_populations": [
            {"order_id": number, "subtotal_population_no": 0, "total_population_no": 3} for number in (1, 2)
        ],
        "audit.formula_populations": [population],
        "audit.total_patterns": [{"order_id": 2, "holds": "010"}],
        "raw.closed_rules": [RULE | {"open_parts": []} | rule],
    }
    rows = run_table(
        "audit.closed_population_rules", given | {key.replace("__", "."): each for key, each in tables.items()}
    )
    return [(row["order_id"], row["rule"], row["basis"], row["open_parts"]) for row in rows]


def test_a_new_order_takes_its_populations_rule(run_table: Run) -> None:
    """Only an order that its close does not have, and only from the close of its own day."""
    assert rules(run_table, {"rule": "a", "basis": "supported"}) == [(2, "a", "supported", [])]
    assert rules(run_table, {"rule": None, "basis": None}) == [(2, None, None, [])]
    assert rules(run_table, {"rule": "a", "close_entry_no": 5}) == []
    assert rules(run_table, {"rule": "a", "scope_value": "platform kiosk"}) == []


def test_what_was_open_then_is_open_for_orders_that_hold_it(run_table: Run) -> None:
    """Part 2 is held: no basis; part 1 is not: the candidates agree on this order."""
    assert rules(run_table, {"rule": "a", "basis": "agreed", "open_parts": [1, 2]}) == [(2, "a", None, [2])]
    assert rules(run_table, {"rule": "a", "basis": "agreed", "open_parts": [1]}) == [(2, "a", "agreed", [])]


def test_an_order_of_too_few_is_assumed_as_observed(run_table: Run) -> None:
    """Too few orders to judge a total: one that holds an open part has the observed formula, another the one found."""
    few = {"rule": "a", "basis": "agreed", "is_assumable": True}
    assert rules(run_table, few | {"open_parts": [2]}) == [(2, "observed/unrounded", "assumed", [2])]
    assert rules(run_table, few | {"open_parts": [1]}) == [(2, "a", "agreed", [])]


def test_a_configured_rule_that_changed_is_not_the_one_of_the_close(run_table: Run) -> None:
    """Settings that name another rule under the same number say nothing of the close."""
    tables = {
        "audit__formula_populations": [
            {"rule_target": "total", "population_no": 3, "scope": "platform web", "rule_setting_no": 1}
        ]
    }
    for now, expected in (("a", [(2, "a", "configured", [])]), ("b", [])):
        setting = [{"setting_no": 1, "rule_target": "total", "rule": now}]
        found = rules(run_table, {"rule": "a", "basis": "configured"}, raw__formula_settings=setting, **tables)
        assert found == expected
