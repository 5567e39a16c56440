"""audit.formula_rules: each form with each rounding that it can have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Rules = dict[tuple[str, int, int], dict[str, Any]]

LESS = 27  # a unit's price by the quantity, less the discount
ALONE = 14  # a line's price alone
NAMES = {
    ("subtotal", LESS): "unit_price/no_modifiers/all_add/after_discount",
    ("subtotal", ALONE): "line_price/no_modifiers/all_add/before_discount",
    ("total", 2): "without_loyalty",
}
TOTAL = "subtotal_price + delivery_price + tip - discount"


@pytest.fixture
def rules(run_table: Callable[..., list[dict[str, Any]]]) -> Rules:
    """Give the rows of three forms by their keys."""
    rows = run_table("audit.formula_rules", {})
    keys = ((row["rule_target"], row["form_no"], row["rounding_no"]) for row in rows)
    return {key: row for key, row in zip(keys, rows, strict=True) if key[:2] in NAMES}


@pytest.mark.duckdb2
def test_roundings_a_form_can_have(rules: Rules) -> None:
    """Not at all and the sum for every form; lines where there are lines; units where nothing counts once a line."""
    assert sorted(rules) == [
        *(("subtotal", ALONE, number) for number in range(1, 26)),
        *(("subtotal", LESS, number) for number in range(1, 38)),
        *(("total", 2, number) for number in range(1, 14)),
    ]
    assert len({row["rule"] for (target, form, _), row in rules.items() if (target, form) == ("subtotal", LESS)}) == 37


@pytest.mark.parametrize(
    ("key", "rule", "expression", "rounding"),
    [
        (("subtotal", LESS, 1), "unrounded", "sum(price * quantity) - any_value(discount)", (None, None, None)),
        (("subtotal", LESS, 2), "half_up_0_per_order",
         "rounded(sum(price * quantity) - any_value(discount), 'half_up', 1.0)", (0, "half_up", "order")),
        (("subtotal", LESS, 9), "half_even_2_per_order",
         "rounded(sum(price * quantity) - any_value(discount), 'half_even', 0.01)", (2, "half_even", "order")),
        (("subtotal", LESS, 25), "down_3_per_line",
         "sum(rounded(price * quantity, 'down', 0.001)) - any_value(discount)", (3, "down", "line")),
        (("subtotal", LESS, 29), "half_up_1_per_unit",
         "sum(quantity * rounded(price, 'half_up', 0.1)) - any_value(discount)", (1, "half_up", "unit")),
        (("subtotal", ALONE, 14), "half_up_0_per_line", "sum(rounded(price, 'half_up', 1.0))",
         (0, "half_up", "line")),
        (("total", 2, 1), "unrounded", TOTAL, (None, None, None)),
        (("total", 2, 13), "down_3_per_order", f"rounded({TOTAL}, 'down', 0.001)", (3, "down", "order")),
    ],
)  # fmt: skip
def test_rule_is_its_form_and_rounding(
    rules: Rules, key: tuple[str, int, int], rule: str, expression: str, rounding: tuple[Any, ...]
) -> None:
    """Name, expression and parameters say the same."""
    row = rules[key]
    assert (row["rule"], row["expression"]) == (f"{NAMES[key[:2]]}/{rule}", expression)
    assert (row["kept_decimals"], row["rounding_mode"], row["rounded_per"]) == rounding
    parameters = {"total": [1, 1, 1, -1, 0], "subtotal": [0 if key[1] == LESS else 1, 0, None, None, None]}[key[0]]
    assert row["rule_parameters"][:5] == parameters
    assert row["complexity"] == 1


def test_descriptions_name_the_rounding(rules: Rules) -> None:
    """A rule that rounds says how, to how many decimals and per what; one that does not says the form alone."""
    assert rules["total", 2, 1]["rule_description"] == "subtotal + delivery + tip - discount"
    said = "a line is its price, whatever its quantity; modifiers add nothing; before the discount"
    assert rules["subtotal", ALONE, 14]["rule_description"] == f"{said}; rounded half up to 0 decimals per line"
