"""audit.formula_populations: the evidence of a population, with its rule and nearest rival by name."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

FOUND: dict[str, Any] = {
    "rule_target": "total",
    "population_no": 3,
    "scope": "platform web",
    "verdict": "supported",
    "form_no": 10,
    "rounding_no": 8,
    "rule_setting_no": None,
    "is_assumable": False,
    "open_parts": [2],
    "candidate_forms": [10, 1],
    "order_count": 40,
    "fit_count": 39,
    "min_fit_rate": 0.87,
    "candidate_count": 2,
    "needed_order_count": None,
    "rival_form_no": 1,
    "distinguishing_order_count": 12,
    "distinguishing_fit_count": 11,
    "deciding_cases": ["an order with a tip"],
    "residual_pattern": "a constant amount of 0.99: 40 of 40",
    "residual_kind": "constant",
    "residual_value": Decimal("0.9900"),
    "residual_base": None,
    "residual_bound": Decimal("3.0000"),
    "sentence": "The rule holds.",
}
RULE = {"rule_target": "total", "form_no": 10, "rounding_no": 8, "rule": "without_tip/half_up_2_per_order"}
FOUND |= {"residual_condition": "subtotal_price < 10", "settlement": "[[formula.component]]"}
FORM = {"rule_target": "total", "form_no": 1, "form": "observed"}
# Rules and forms of the same numbers that are not meant.
RULES = [
    RULE,
    RULE | {"rule_target": "subtotal", "rule": "no"},
    RULE | {"form_no": 1, "rule": "no"},
    RULE | {"rounding_no": 1, "rule": "no"},
]
FORMS = [FORM, FORM | {"rule_target": "subtotal", "form": "no"}, FORM | {"form_no": 10, "form": "no"}]


def populations(run_table: Run, *found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the gathered rows."""
    return run_table(
        "audit.formula_populations",
        {
            "raw.formula_populations": list(found),
            "audit.formula_rules": RULES,
            "workings.formula_forms": FORMS,
        },
    )


@pytest.mark.duckdb2
def test_population_names_its_rule_and_rival(run_table: Run) -> None:
    """Of its own target, form and rounding; all else is as gathered."""
    (row,) = populations(run_table, FOUND)
    assert row == {name: value for name, value in FOUND.items() if name != "rival_form_no"} | {
        "rule": "without_tip/half_up_2_per_order",
        "nearest_rival": "observed",
        "is_pattern_open": True,
    }


def test_refuted_population_has_no_rule(run_table: Run) -> None:
    """Where every candidate is refuted the form that fits best is named by number alone; other verdicts keep a rule."""
    verdicts = ("none", "agreed", "compatible", "undecided", "not_tested")
    found = [FOUND | {"population_no": number, "verdict": verdict} for number, verdict in enumerate(verdicts)]
    rows = populations(run_table, *found)
    assert [(row["verdict"], row["form_no"], row["rule"] is None) for row in rows] == [
        (verdict, 10, verdict in ("none", "not_tested")) for verdict in verdicts
    ]


def test_population_without_a_rival_is_a_row(run_table: Run) -> None:
    """A form without any rival, and a configured one, stay."""
    (row,) = populations(run_table, FOUND | {"population_no": -1, "rival_form_no": None, "rule_setting_no": 1})
    assert (row["population_no"], row["nearest_rival"], row["rule_setting_no"]) == (-1, None, 1)


@pytest.mark.parametrize(
    ("found", "is_open"),
    [
        ({}, True),
        ({"residual_kind": None}, False),
        ({"rule_setting_no": 1, "fit_count": 21}, True),
        ({"rule_setting_no": 1, "fit_count": 20}, False),
    ],
)
def test_a_pattern_is_open_unless_most_break_a_configured_rule(
    found: dict[str, Any], is_open: bool, run_table: Run
) -> None:
    """Where settings name a rule that half of the orders break, whatever differs from it is a break."""
    (row,) = populations(run_table, FOUND | found)
    assert row["is_pattern_open"] is is_open
