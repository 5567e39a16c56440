"""mart.order_line_modifiers: modifiers with their amount by the rule in force."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

UNIT = "unit_price/modifiers_per_unit_by_own/others_subtract/before_discount/unrounded"
ALONE = "line_price/modifiers_per_line/others_ignored/before_discount/unrounded"
NONE = "unit_price/without_modifiers"
RULES = [
    {"rule_target": "subtotal", "rule": UNIT, "rule_parameters": [0, 1, 0, 0, 2, 0]},
    {"rule_target": "subtotal", "rule": ALONE, "rule_parameters": [1, 1, 1, 1, 1, 0]},
    {"rule_target": "subtotal", "rule": NONE, "rule_parameters": [0, 0, 0, 0, 0, 0]},
]
LINE = {
    "order_id": 1,
    "line_no": 1,
    "store_id": 7,
    "business_date": "2026-10-31",
    "sale_class": "counted",
    "product_id": 5,
    "name": "Tea",
    "quantity": 2,
    "currency": "EUR",
}
ADDED = {"order_id": 1, "line_no": 1, "modifier_no": 1, "modifier_id": 9, "name": "Milk", "action": "add"}
VARIANCE = {"order_id": 1, "line_no": 1, "modifier_no": 1, "menu_match": "unique", "menu_entry_count": 1}
CHECK = "mart.order_line_modifiers__add_up_to_order_lines"


def modifier(run_table: Run, rule: str | None, *, open_parts: list[int] | None = None, **more: Any) -> dict[str, Any]:
    """Return the row of a modifier of quantity 3 and price 0.10 on a line of quantity 2, under a rule."""
    line = LINE | {"quantity": more.pop("line_quantity", 2)}
    (row,) = run_table(
        "mart.order_line_modifiers",
        {
            "core.order_line_modifiers": [ADDED | {"quantity": 3, "price": "0.1"} | more],
            "mart.price_variances": [VARIANCE],
            "mart.order_lines": [line],
            "audit.order_rules": [{"order_id": 1, "line_rule": rule, "line_open_parts": open_parts or []}],
            "audit.formula_rules": RULES,
        },
    )
    return row


@pytest.mark.duckdb2
def test_amounts_follow_the_rule(run_table: Run) -> None:
    """A modifier counts as often as the rule says, other actions with its sign, and nothing where it counts none."""
    assert modifier(run_table, UNIT)["modifier_amount"] == Decimal("0.6")
    assert modifier(run_table, UNIT, action="remove")["modifier_amount"] == Decimal("-0.6")
    assert modifier(run_table, UNIT, action=None)["modifier_amount"] == Decimal("-0.6")
    assert modifier(run_table, ALONE)["modifier_amount"] == Decimal("0.1")
    assert modifier(run_table, ALONE, action="remove")["modifier_amount"] == 0
    assert modifier(run_table, NONE)["modifier_amount"] == 0
    most = modifier(run_table, UNIT, price="99999999999999.9999", quantity=1_000_000, line_quantity=1_000_000)
    assert most["modifier_amount"] == Decimal("99999999999999.9999") * 10**12
    row = modifier(run_table, UNIT)
    assert (row["store_id"], row["product_name"], row["name"], row["line_quantity"]) == (7, "Tea", "Milk", 2)


@pytest.mark.parametrize(
    ("rule", "more", "reason"),
    [
        (None, {}, "no_rule"),
        (UNIT, {"price": None}, "missing_input"),
        (UNIT, {"quantity": None}, "missing_input"),
        (UNIT, {"line_quantity": None}, "missing_input"),
        (UNIT, {"open_parts": [2]}, "undecided"),
        (UNIT, {"open_parts": [3]}, "undecided"),
        (UNIT, {"open_parts": [4]}, "undecided"),
        (UNIT, {"open_parts": [5], "action": "remove"}, "undecided"),
        (UNIT, {"open_parts": [5]}, None),
        (UNIT, {"open_parts": [3], "line_quantity": 1}, None),
        (UNIT, {"open_parts": [4], "quantity": 1}, None),
        (UNIT, {"open_parts": [2], "price": "0"}, None),
    ],
)
def test_no_amount_without_a_decision(
    run_table: Run, rule: str | None, more: dict[str, Any], reason: str | None
) -> None:
    """There is an amount only where rules that remain agree on this modifier, and a reason where there is none."""
    row = modifier(run_table, rule, **more)
    assert (row["missing_amount_reason"], row["modifier_amount"] is None) == (reason, reason is not None)


@pytest.mark.duckdb2
def test_repeated_modifiers_are_marked(run_table: Run) -> None:
    """The same modifier with the same action, later in its line, is repeated; without an id it goes by its name."""
    items = [(9, "Milk", "add"), (9, "Oat milk", "add"), (9, "Milk", "remove"), (9, "Milk", None)]
    items += [(None, "Milk", "add"), (None, "Milk", "add"), (None, None, "add"), (None, None, "add")]
    modifiers = [
        ADDED | {"modifier_no": no, "modifier_id": modifier_id, "name": name, "action": action}
        for no, (modifier_id, name, action) in enumerate(items, 1)
    ]
    other_line = [ADDED | {"line_no": 2}]
    matches = [VARIANCE | {"modifier_no": no, "menu_match": "ambiguous"} for no in range(1, 9)]
    rows = run_table(
        "mart.order_line_modifiers",
        {
            "core.order_line_modifiers": modifiers + other_line,
            "mart.price_variances": [*matches, VARIANCE | {"line_no": 2}, VARIANCE | {"modifier_no": None}],
            "mart.order_lines": [LINE, LINE | {"line_no": 2}],
            "audit.order_rules": [{"order_id": 1, "line_open_parts": []}],
        },
    )
    assert [row["modifier_no"] for row in rows if row["is_repeated"]] == [2, 6, 8]
    assert [row["menu_match"] for row in rows] == ["ambiguous"] * 8 + ["unique"]


def test_check_finds_lines_that_do_not_add_up(run_check: Run) -> None:
    """An amount too high, one that is missing, and a modifier in one table only are found."""
    given = {
        "core.order_line_modifiers": [ADDED],
        "core.order_lines": [{"order_id": 1, "line_no": 1, "price": "5"}],
        "mart.order_lines": [LINE | {"line_amount": "10.6"}],
        "audit.order_rules": [{"order_id": 1, "line_rule": UNIT}],
        "audit.formula_rules": RULES,
    }
    good = ADDED | {"modifier_amount": "0.6"}
    assert run_check(CHECK, given | {"mart.order_line_modifiers": [good]}) == []
    for wrong, residual in (("0.7", Decimal("-0.1")), (None, Decimal("0.6"))):
        spoiled = given | {"mart.order_line_modifiers": [good | {"modifier_amount": wrong}]}
        assert [row["residual"] for row in run_check(CHECK, spoiled)] == [residual]
    lost = run_check(CHECK, given | {"mart.order_line_modifiers": [good | {"modifier_no": 2}]})
    assert [row["location"] for row in lost] == ["line 1, modifier 1", "line 1, modifier 2"]
