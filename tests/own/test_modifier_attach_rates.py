"""docs/models/modifier_attach_rates.sql: on which share of a product's lines a modifier is."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sql.conftest import Run

LINE = {"business_date": "2026-01-10", "sale_class": "counted", "currency": "EUR", "product_id": 5}
MILK = {"modifier_id": 9, "action": "add", "is_repeated": False, "menu_entry_count": 1, "modifier_amount": "0.5"}


def rates(run_model: Run, lines: list[dict[str, Any]], modifiers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the attach rates of lines named Tea, and of their modifiers, named Milk unless told."""
    given = {
        "mart.order_lines": [
            LINE | {"order_id": n, "line_no": 1, "name": "Tea"} | each for n, each in enumerate(lines)
        ],
        "mart.order_line_modifiers": [
            LINE | MILK | {"order_id": n, "line_no": 1, "modifier_no": 1, "product_name": "Tea", "name": "Milk"} | each
            for n, each in enumerate(modifiers)
        ],
    }
    return run_model("modifier_attach_rates", given)


def test_lines_with_a_modifier_over_all_lines(run_model: Run) -> None:
    """Days add up; a line counts once, and what menus explain is told apart; the latest name is shown."""
    later: dict[str, Any] = {"business_date": "2026-01-11", "name": "Chai"}
    modifiers: list[dict[str, Any]] = [
        {},
        {"is_repeated": True},
        {"menu_entry_count": 2, "business_date": "2026-01-11", "modifier_amount": None},
        {"menu_entry_count": 0, "name": "Oat milk", "business_date": "2026-01-12"},
        {"menu_entry_count": 0, "business_date": None, "name": "Zzz"},
    ]
    (row,) = rates(run_model, [{}, {}, {}, later, later, {}, {}, {"business_date": None, "name": "Zzz"}], modifiers)
    assert (row["product_name"], row["modifier_name"]) == ("Chai", "Oat milk")
    assert (row["line_count"], row["attached_line_count"], row["modifier_count"]) == (8, 4, 5)
    assert [row[f"{match}line_count"] for match in ("unique_", "ambiguous_", "unmatched_")] == [1, 1, 2]
    assert [row[f"{match}attach_rate"] for match in ("", "unique_", "ambiguous_", "unmatched_")] == [
        0.5,
        0.125,
        0.125,
        0.25,
    ]
    assert (row["modifier_amount"], row["unvalued_count"]) == (Decimal(2), 1)


def test_names_stand_for_ids_that_are_not_stated(run_model: Run) -> None:
    """Lines without a product, and modifiers without an id, go by their names; classes and actions are apart."""
    nameless = {"product_id": None}
    lines = [nameless, nameless | {"name": "Cake"}, nameless | {"name": None}, LINE, LINE | {"sale_class": "deleted"}]
    modifiers = [
        nameless | {"product_name": "Tea", "modifier_id": None},
        nameless | {"product_name": "Cake", "modifier_id": None, "name": "Cream"},
        nameless | {"product_name": None, "modifier_id": None, "name": None},
        {"action": "remove"},
        {"action": None},
        {"sale_class": "deleted"},
    ]
    rows = rates(run_model, lines, modifiers)
    columns = ("sale_class", "product_id", "product_name", "modifier_id", "modifier_name", "action", "attach_rate")
    assert [tuple(row[name] for name in columns) for row in rows] == [
        ("counted", 5, "Tea", 9, "Milk", "remove", 1),
        ("counted", 5, "Tea", 9, "Milk", None, 1),
        ("counted", None, "Cake", None, "Cream", "add", 1),
        ("counted", None, "Tea", None, "Milk", "add", 1),
        ("counted", None, None, None, None, "add", 1),
        ("deleted", 5, "Tea", 9, "Milk", "add", 1),
    ]


def test_products_without_modifiers_have_no_row(run_model: Run) -> None:
    """There is no row where nothing was chosen."""
    assert rates(run_model, [{}], []) == []


def test_check_finds_modifiers_that_are_not_counted(run_claim: Run) -> None:
    """A modifier too few, and a line that is counted more often than it is there, are found."""
    name = "modifier_attach_rates__count_every_modifier"
    rate = {"modifier_count": 2, "attached_line_count": 1, "line_count": 1}
    given: dict[str, list[dict[str, Any]]] = {"own.modifier_attach_rates": [rate]}
    given["core.order_line_modifiers"] = [{"order_id": 1}, {"order_id": 2}]
    assert run_claim(name, given) == []
    for wrong in ({"modifier_count": 1}, {"attached_line_count": 2}):
        assert run_claim(name, given | {"own.modifier_attach_rates": [rate | wrong]}) != []
