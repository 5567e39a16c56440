"""workings.order_populations: an order's populations, found by going down the divisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

ORDER = {
    "order_id": 1,
    "platform": "web",
    "dispatch_method": "pick_up",
    "store_id": 7,
    "status": "ready",
    "business_date": "2026-10-31",
}


def division(node: int, dimension: str, value: str | None, child: int, *, rest: bool = False) -> dict[str, Any]:
    """Return a row that leads from a node to a child, of the total."""
    part = {"discount": 3, "stated zero": 7}.get(dimension)
    return {
        "rule_target": "total",
        "node_no": node,
        "is_rest": rest,
        "value": value,
        "dimension": dimension,
        "part_no": part,
        "child_no": child,
    }


def test_an_order_goes_down_the_divisions(run_table: Run) -> None:
    """By platform, then by what it holds; a value without a row goes with the rest, a missing one may have a row."""
    rows = run_table(
        "workings.order_populations",
        {
            "mart.orders": [
                ORDER,
                ORDER | {"order_id": 2, "platform": "ios"},
                ORDER | {"order_id": 3, "platform": None},
                ORDER | {"order_id": 4, "platform": "ios"},
            ],
            "workings.order_rule_settings": [{"order_id": number} for number in (1, 2, 3, 4)],
            "workings.total_patterns": [{"order_id": 2, "holds": "0010000", "fits": ""}],
            "workings.formula_divisions": [
                division(0, "platform", None, 1, rest=True),
                division(0, "platform", "ios", 2),
                division(0, "platform", None, 3),
                division(2, "discount", None, 4, rest=True),
                division(2, "discount", "1", 5),
            ],
        },
    )
    assert [row["total_population_no"] for row in rows] == [1, 5, 3, 4]
    assert {row["subtotal_population_no"] for row in rows} == {0}


@pytest.mark.parametrize(
    ("dimension", "value"),
    [
        ("platform", "web"),
        ("dispatch_method", "pick_up"),
        ("store_id", "7"),
        ("status", "ready"),
        ("sale_class", "counted"),
        ("business_date", "2026-10-31"),
        ("discount", "0"),
        ("stated zero", "1"),
    ],
)
def test_each_dimension_divides_by_its_own_value(run_table: Run, dimension: str, value: str) -> None:
    """A column of the order as text, or what it holds: this value leads to 2, another, or none, to the rest."""
    divisions = [division(0, dimension, None, 1, rest=True), division(0, dimension, value, 2)]
    given = {
        "mart.orders": [ORDER | {"sale_class": "counted"}, {"order_id": 2, "sale_class": "excluded"}],
        "workings.order_rule_settings": [{"order_id": 1}, {"order_id": 2}],
        "workings.total_patterns": [{"order_id": 1, "holds": "1101111", "fits": ""}],
        "workings.formula_divisions": divisions,
    }
    assert [row["total_population_no"] for row in run_table("workings.order_populations", given)] == [2, 1]


def test_targets_are_divided_apart(run_table: Run) -> None:
    """The subtotal goes down its own divisions by its own patterns; without any, all orders are population 0."""
    divisions = [
        division(0, "discount", None, 1, rest=True) | {"rule_target": "subtotal"},
        division(0, "discount", "1", 2) | {"rule_target": "subtotal"},
    ]
    (row,) = run_table(
        "workings.order_populations",
        {
            "mart.orders": [ORDER],
            "workings.order_rule_settings": [{"order_id": 1}],
            "workings.subtotal_patterns": [{"order_id": 1, "holds": "0010000", "fits": ""}],
            "workings.total_patterns": [{"order_id": 1, "holds": "0000000", "fits": ""}],
            "workings.formula_divisions": divisions,
        },
    )
    assert (row["subtotal_population_no"], row["total_population_no"]) == (2, 0)


def test_order_that_settings_name_a_rule_for_has_its_own_population(run_table: Run) -> None:
    """Below zero, by the number of the setting, of the target that it is about; no division leads there."""
    (row,) = run_table(
        "workings.order_populations",
        {
            "mart.orders": [ORDER],
            "workings.order_rule_settings": [{"order_id": 1, "subtotal_setting_no": 4}],
            "workings.formula_divisions": [division(0, "platform", None, 1, rest=True)],
        },
    )
    assert (row["subtotal_population_no"], row["total_population_no"]) == (-4, 1)
