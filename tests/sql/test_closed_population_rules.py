"""workings.closed_population_rules: the rules with which the population of an order new to a closed day was closed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sql.conftest import Run

DAY = "2026-10-31"
RULE = {"close_entry_no": 4, "rule_no": 0, "rule_target": "total"}
PLATFORM = {"dimension": "platform", "value": "web"}


def rules(
    run_table: Run, rule: dict[str, Any], *scopes: dict[str, Any], **tables: list[dict[str, Any]]
) -> list[tuple[Any, ...]]:
    """Return order, rule, basis and open parts where order 1 was closed and order 2 came later."""
    of_day = {"store_id": 7, "business_date": DAY, "platform": "web", "close_entry_no": 4}
    listed = {"close_entry_no": 4, "rule_no": 0, "condition_no": 0, "is_other": False}
    given = {
        "mart.orders": [{"order_id": number, "status": "done", "sale_class": "counted"} for number in (1, 2)],
        "workings.order_closes": [of_day | {"order_id": number} for number in (1, 2)],
        "raw.closed_orders": [{"close_entry_no": 4, "order_id": 1, "store_id": 7, "business_date": DAY}],
        "workings.order_rule_settings": [{"order_id": number} for number in (1, 2)],
        "workings.total_patterns": [{"order_id": 2, "holds": "010"}],
        "raw.closed_rules": [RULE | {"open_parts": []} | rule],
        "raw.closed_scopes": [listed | scope for scope in scopes],
        "workings.formula_parts": [
            {"rule_target": target, "part_no": number, "part": part}
            for target in ("subtotal", "total")
            for number, part in ((1, "discount"), (2, "tip"))
        ],
    }
    rows = run_table(
        "workings.closed_population_rules", given | {key.replace("__", "."): each for key, each in tables.items()}
    )
    return [(row["order_id"], row["rule"], row["basis"], row["open_parts"]) for row in rows]


def test_a_new_order_takes_its_populations_rule(run_table: Run) -> None:
    """Only an order that its close does not have, and only from the close of its own day."""
    assert rules(run_table, {"rule": "a", "basis": "supported"}, PLATFORM) == [(2, "a", "supported", [])]
    assert rules(run_table, {"rule": None, "basis": None}, PLATFORM) == [(2, None, None, [])]
    assert rules(run_table, {"rule": "a", "close_entry_no": 5}) == []


def test_an_order_without_a_pattern_has_a_rule(run_table: Run) -> None:
    """One that lacks an amount holds no part that is known, and is in its population all the same."""
    for target in ("subtotal", "total"):
        rule = {"rule": "a", "basis": "supported", "rule_target": target}
        assert rules(run_table, rule, PLATFORM, workings__total_patterns=[]) == [(2, "a", "supported", [])], target


def test_each_rule_has_its_own_conditions(run_table: Run) -> None:
    """What another rule of the same close asks for decides nothing."""
    web = {"close_entry_no": 4, "rule_no": 1, "condition_no": 0, "is_other": False} | PLATFORM
    held = [
        RULE | {"rule": rule, "basis": "supported", "open_parts": [], "rule_no": no} for no, rule in enumerate("ab")
    ]
    ios = web | {"rule_no": 0, "value": "ios"}
    assert rules(run_table, {}, raw__closed_rules=held, raw__closed_scopes=[web, ios]) == [(2, "b", "supported", [])]


def test_an_order_belongs_where_it_meets_every_condition(run_table: Run) -> None:
    """Values, all others, spans of days with and without a limit, parts that it holds or not."""
    ios, tip = {"dimension": "platform", "value": "ios"}, {"part": "tip", "value": "1"}
    october = {"dimension": "business_date", "first_day": "2026-10-01", "last_day": DAY}
    met: list[list[dict[str, Any]]] = [
        [],
        [PLATFORM, ios],
        [ios | {"is_other": True}],
        [{"dimension": "dispatch_method", "value": None}],
        [{"dimension": "store_id", "value": "7"}, {"dimension": "status", "value": "done", "condition_no": 1}],
        [{"dimension": "sale_class", "value": "counted"}],
        [october],
        [{"dimension": "business_date", "first_day": DAY}],
        [{"dimension": "business_date", "last_day": "2026-10-30"}, {"dimension": "business_date", "last_day": DAY}],
        [tip, {"part": "discount", "value": "0", "condition_no": 1}],
        [{"part": "an absent one", "value": "1", "is_other": True}],
        [{"dimension": "rule_setting", "value": None}],
    ]
    for scopes in met:
        assert rules(run_table, {"rule": "a", "basis": "agreed"}, *scopes) == [(2, "a", "agreed", [])], scopes
    unmet: list[list[dict[str, Any]]] = [
        [ios],
        [PLATFORM | {"is_other": True}, ios | {"is_other": True}],
        [PLATFORM, ios | {"condition_no": 1}],
        [{"dimension": "store_id", "value": None}],
        [october | {"last_day": "2026-10-30"}],
        [october | {"is_other": True}],
        [tip | {"value": "0"}],
        [{"part": "an absent one", "value": "1"}],
    ]
    for scopes in unmet:
        assert rules(run_table, {"rule": "a", "basis": "agreed"}, *scopes) == [], scopes


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
    scope = {"dimension": "rule_setting", "value": "1"}
    settings = [{"order_id": number, "total_setting_no": 1} for number in (1, 2)]
    for now, expected in (("a", [(2, "a", "configured", [])]), ("b", [])):
        found = rules(
            run_table,
            {"rule": "a", "basis": "configured"},
            scope,
            raw__formula_settings=[{"setting_no": 1, "rule_target": "total", "rule": now}],
            workings__order_rule_settings=settings,
        )
        assert found == expected
    assert rules(run_table, {"rule": "a", "basis": "configured"}, scope) == []
