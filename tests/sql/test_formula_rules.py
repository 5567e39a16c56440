"""audit.formula_rules: each form with each rounding that it can have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Rules = dict[tuple[str, int, int], dict[str, Any]]

FORM = {"form": "f", "form_description": "In words", "rule_parameters": [1, None], "complexity": 3}
WHOLE = FORM | {"rule_target": "subtotal", "form_no": 1, "line_expression": "l", "unit_expression": "u"}
FORMS = [
    WHOLE | {"rest_expression": " - d"},
    WHOLE | {"form_no": 2, "unit_expression": None, "rest_expression": ""},
    FORM | {"rule_target": "total", "form_no": 1, "rest_expression": "t"},
]


@pytest.fixture
def rules(run_table: Callable[..., list[dict[str, Any]]]) -> Rules:
    """Give the rows of three forms by their keys."""
    rows = run_table("audit.formula_rules", {"audit.formula_forms": FORMS})
    return {(row["rule_target"], row["form_no"], row["rounding_no"]): row for row in rows}


@pytest.mark.duckdb2
def test_roundings_a_form_can_have(rules: Rules) -> None:
    """Not at all and the sum for every form; lines where there are lines; units where nothing counts once a line."""
    assert sorted(rules) == [
        *(("subtotal", 1, number) for number in range(1, 38)),
        *(("subtotal", 2, number) for number in range(1, 26)),
        *(("total", 1, number) for number in range(1, 14)),
    ]
    assert len({row["rule"] for (target, form, _), row in rules.items() if (target, form) == ("subtotal", 1)}) == 37


@pytest.mark.parametrize(
    ("key", "rule", "expression", "rounding"),
    [
        (("subtotal", 1, 1), "f/unrounded", "sum(l) - d", (None, None, None)),
        (("subtotal", 1, 2), "f/half_up_0_per_order", "rounded(sum(l) - d, 'half_up', 1.0)", (0, "half_up", "order")),
        (("subtotal", 1, 9), "f/half_even_2_per_order", "rounded(sum(l) - d, 'half_even', 0.01)",
         (2, "half_even", "order")),
        (("subtotal", 1, 25), "f/down_3_per_line", "sum(rounded(l, 'down', 0.001)) - d", (3, "down", "line")),
        (("subtotal", 1, 29), "f/half_up_1_per_unit", "sum(quantity * rounded(u, 'half_up', 0.1)) - d",
         (1, "half_up", "unit")),
        (("subtotal", 2, 14), "f/half_up_0_per_line", "sum(rounded(l, 'half_up', 1.0))", (0, "half_up", "line")),
        (("total", 1, 1), "f/unrounded", "t", (None, None, None)),
        (("total", 1, 13), "f/down_3_per_order", "rounded(t, 'down', 0.001)", (3, "down", "order")),
    ],
)  # fmt: skip
def test_rule_is_its_form_and_rounding(
    rules: Rules, key: tuple[str, int, int], rule: str, expression: str, rounding: tuple[Any, ...]
) -> None:
    """Name, expression and parameters say the same."""
    row = rules[key]
    assert (row["rule"], row["expression"]) == (rule, expression)
    assert (row["kept_decimals"], row["rounding_mode"], row["rounded_per"]) == rounding
    assert (row["rule_parameters"], row["complexity"]) == ([1, None], 3)


def test_descriptions_name_the_rounding(rules: Rules) -> None:
    """A rule that rounds says how, to how many decimals and per what; one that does not says the form alone."""
    assert rules["total", 1, 1]["rule_description"] == "In words"
    assert rules["subtotal", 1, 29]["rule_description"] == "In words; rounded half up to 1 decimals per unit"
