"""workings.formula_forms: every candidate form has its number, name, expressions and parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Forms = dict[tuple[str, int], dict[str, Any]]


@pytest.fixture
def forms(run_table: Callable[..., list[dict[str, Any]]]) -> Forms:
    """Give the rows by rule target and number."""
    return {(row["rule_target"], row["form_no"]): row for row in run_table("workings.formula_forms", {})}


def test_forms_are_numbered_without_gaps(forms: Forms) -> None:
    """78 of the subtotal and 85 of the total, each with a name of its own."""
    assert sorted(forms) == [
        *(("subtotal", number) for number in range(1, 79)),
        *(("total", number) for number in range(1, 86)),
    ]
    assert len({(target, row["form"]) for (target, _), row in forms.items()}) == 78 + 85


@pytest.mark.parametrize(
    ("number", "form", "line", "unit", "rest", "parameters", "complexity"),
    [
        (1, "unit_price/no_modifiers/all_add/before_discount", "price * quantity", "price", "",
         [0, 0, None, None, None, 0], 0),
        (2, "unit_price/modifiers_per_unit_by_own/all_add/before_discount",
         "price * quantity + quantity * (add_own + other_own)", "price + (add_own + other_own)", "",
         [0, 1, 0, 0, 0, 0], 1),
        (7, "unit_price/modifiers_per_unit/only_add/before_discount",
         "price * quantity + quantity * add_once", "price + add_once", "", [0, 1, 0, 1, 1, 0], 2),
        (12, "unit_price/modifiers_per_line_by_own/others_subtract/before_discount",
         "price * quantity + (add_own - other_own)", None, "", [0, 1, 1, 0, 2, 0], 3),
        (14, "line_price/no_modifiers/all_add/before_discount", "price", None, "", [1, 0, None, None, None, 0], 1),
        (18, "line_price/modifiers_per_line/all_add/before_discount", "price + (add_once + other_once)", None, "",
         [1, 1, 1, 1, 0, 0], 2),
        (27, "unit_price/no_modifiers/all_add/after_discount", "price * quantity", "price",
         " - any_value(discount)", [0, 0, None, None, None, 1], 1),
        (78, "line_price/modifiers_per_line/others_subtract/discount_added", "price + (add_once - other_once)", None,
         " + any_value(discount)", [1, 1, 1, 1, 2, 2], 6),
    ],
)  # fmt: skip
def test_forms_of_the_subtotal(  # one row of the table each
    forms: Forms, number: int, form: str, line: str, unit: str | None, rest: str, parameters: list[Any], complexity: int
) -> None:
    """A form is what its name says."""
    row = forms["subtotal", number]
    assert (row["form"], row["line_expression"], row["unit_expression"], row["rest_expression"]) == (
        form,
        line,
        unit,
        rest,
    )
    assert (row["rule_parameters"], row["complexity"]) == (parameters, complexity)


@pytest.mark.parametrize(
    ("number", "form", "rest", "parameters", "complexity"),
    [
        (1, "observed", "subtotal_price + delivery_price + tip - discount - loyalty_discount", [1, 1, 1, -1, -1], 0),
        (2, "without_loyalty", "subtotal_price + delivery_price + tip - discount", [1, 1, 1, -1, 0], 1),
        (3, "loyalty_added", "subtotal_price + delivery_price + tip - discount + loyalty_discount",
         [1, 1, 1, -1, 1], 1),
        (4, "without_discount", "subtotal_price + delivery_price + tip - loyalty_discount", [1, 1, 1, 0, -1], 1),
        (10, "without_tip", "subtotal_price + delivery_price - discount - loyalty_discount", [1, 1, 0, -1, -1], 1),
        (55, "delivery_subtracted", "subtotal_price - delivery_price + tip - discount - loyalty_discount",
         [1, -1, 1, -1, -1], 1),
        (81, "delivery_subtracted+tip_subtracted+discount_added+loyalty_added",
         "subtotal_price - delivery_price - tip + discount + loyalty_discount", [1, -1, -1, 1, 1], 4),
        (82, "without_subtotal", "delivery_price + tip - discount - loyalty_discount", [0, 1, 1, -1, -1], 1),
        (83, "subtotal_subtracted", "- subtotal_price + delivery_price + tip - discount - loyalty_discount",
         [-1, 1, 1, -1, -1], 1),
    ],
)  # fmt: skip
def test_forms_of_the_total(
    forms: Forms, number: int, form: str, rest: str, parameters: list[int], complexity: int
) -> None:
    """The signs of the five parts are those of its name; the subtotal turns alone."""
    row = forms["total", number]
    assert (row["form"], row["rest_expression"]) == (form, rest)
    assert (row["rule_parameters"], row["complexity"]) == (parameters, complexity)
    assert (row["line_expression"], row["unit_expression"]) == (None, None)


def test_descriptions_say_the_form_in_words(forms: Forms) -> None:
    """Price, modifiers, their actions unless none count, and the discount."""
    assert forms["subtotal", 1]["form_description"] == (
        "a line is its price by its quantity; modifiers add nothing; before the discount"
    )
    assert forms["subtotal", 45]["form_description"] == (
        "a line is its price, whatever its quantity; modifiers count by their own quantity for each unit of the line, "
        "only those with action add; less the discount"
    )
    assert forms["total", 13]["form_description"] == "subtotal + delivery - loyalty discount"
