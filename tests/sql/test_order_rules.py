"""audit.order_rules: which rule an order has, by its population, the settings and its close."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

USUAL = "unit_price/no_modifiers/all_add/before_discount/unrounded"
WITHOUT_TIP = "without_tip/unrounded"


def population(target: str, rule: str | None, **columns: Any) -> dict[str, Any]:
    """Return a row of audit.formula_populations of a supported rule."""
    return {
        "rule_target": target,
        "population_no": 0,
        "verdict": "supported" if rule else "none",
        "rule": rule,
        "is_assumable": False,
        "open_parts": [],
        "candidate_forms": [1],
    } | columns


def rules(run_table: Run, *populations: dict[str, Any], **given: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the row of one order that holds its first part, and is fitted by form 1 alone."""
    tested = {"order_id": 1, "holds": "1000000", "fits": "1" + "0" * 82}
    (row,) = run_table(
        "audit.order_rules",
        {
            "workings.order_populations": [{"order_id": 1, "subtotal_population_no": 0, "total_population_no": 0}],
            "audit.formula_populations": list(populations),
            "workings.subtotal_patterns": [tested],
            "workings.total_patterns": [tested],
        }
        | {f"{schema}.{name}": rows for key, rows in given.items() for schema, name in [key.split("__")]},
    )
    return row


@pytest.mark.duckdb2
def test_an_order_has_the_rule_of_its_population(run_table: Run) -> None:
    """A supported rule holds for all, whatever they hold."""
    row = rules(run_table, population("subtotal", USUAL), population("total", WITHOUT_TIP))
    assert (row["subtotal_rule"], row["subtotal_basis"]) == (USUAL, "supported")
    assert (row["total_rule"], row["total_basis"]) == (WITHOUT_TIP, "supported")


def test_an_order_that_holds_what_is_open_has_no_rule(run_table: Run) -> None:
    """Candidates that differ on what it holds leave it without; on something else, all agree on it."""
    row = rules(
        run_table,
        population("subtotal", USUAL, verdict="agreed", open_parts=[1]),
        population("total", WITHOUT_TIP, verdict="agreed", open_parts=[2]),
    )
    assert (row["subtotal_rule"], row["subtotal_basis"]) == (None, None)
    assert (row["line_rule"], row["line_open_parts"]) == (USUAL, [1])
    assert (row["total_rule"], row["total_basis"]) == (WITHOUT_TIP, "agreed")


def test_a_total_that_all_candidates_give_is_agreed(run_table: Run) -> None:
    """Candidates differ on what it holds, and give the same total all the same; where one does not, there is none."""
    found = population("total", WITHOUT_TIP, verdict="undecided", open_parts=[1])
    row = rules(run_table, population("subtotal", USUAL), found)
    assert (row["total_rule"], row["total_basis"]) == (WITHOUT_TIP, "agreed")
    row = rules(run_table, population("subtotal", USUAL), found | {"candidate_forms": [1, 2]})
    assert (row["total_rule"], row["total_basis"]) == (None, None)


def test_a_refuted_total_is_not_assumed_but_few_orders_are(run_table: Run) -> None:
    """No rule where all are refuted; the observed total where orders are too few to judge."""
    row = rules(run_table, population("subtotal", None), population("total", None))
    assert (row["subtotal_rule"], row["total_rule"], row["total_basis"]) == (None, None, None)
    few = population("total", "observed/unrounded", verdict="compatible", open_parts=[1], candidate_forms=[1, 2])
    row = rules(run_table, population("subtotal", None), few | {"is_assumable": True})
    assert (row["total_rule"], row["total_basis"]) == ("observed/unrounded", "assumed")


def test_a_configured_rule_holds_whatever_the_orders_show(run_table: Run) -> None:
    """The rule of the settings is in force where the orders refute it too."""
    found = population("total", None, rule_setting_no=3)
    settings = [{"setting_no": 3, "rule_target": "total", "rule": WITHOUT_TIP}]
    row = rules(run_table, population("subtotal", USUAL), found, raw__formula_settings=settings)
    assert (row["total_rule"], row["total_basis"]) == (WITHOUT_TIP, "configured")


def test_a_closed_day_keeps_its_rules(run_table: Run) -> None:
    """An order of a closed day has what it was closed with, none included; what it would have now is beside it."""
    closed = {"order_id": 1, "total_rule": "observed/unrounded", "total_basis": "supported"}
    row = rules(
        run_table,
        population("subtotal", USUAL),
        population("total", WITHOUT_TIP),
        workings__closed_order_rules=[closed | {"line_open_parts": []}],
    )
    assert (row["total_rule"], row["current_total_rule"]) == ("observed/unrounded", WITHOUT_TIP)
    assert (row["subtotal_rule"], row["line_rule"], row["current_subtotal_rule"]) == (None, None, USUAL)
