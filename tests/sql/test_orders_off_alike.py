"""workings.orders_off_alike: orders whose total differs from their population's rule as many others do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

ORDER = {
    "currency": "EUR",
    "subtotal_price": "20",
    "delivery_price": "3",
    "tip": "0",
    "discount": "0",
    "loyalty_discount": "0",
}
POPULATION = {"rule_target": "total", "population_no": 0, "form_no": 1}
FORM = {"rule_target": "total", "form_no": 1, "rule_parameters": [1, 1, 1, -1, -1]}


def alike(run_table: Run, totals: dict[int, str], **found: Any) -> list[int]:
    """Return the ids of those that follow the pattern found, given what orders state; 23.00 fits."""
    rows = run_table(
        "workings.orders_off_alike",
        {
            "workings.order_populations": [{"order_id": each, "total_population_no": 0} for each in totals],
            "audit.formula_populations": [POPULATION | found],
            "workings.formula_forms": [FORM],
            "workings.total_patterns": [
                {"order_id": each, "fits": "1" if total == "23" else "0"} for each, total in totals.items()
            ],
            "mart.orders": [ORDER | {"order_id": each, "total_price": total} for each, total in totals.items()],
        },
    )
    return [row["order_id"] for row in rows]


@pytest.mark.duckdb2
@pytest.mark.parametrize(
    ("kind", "value", "base", "bound", "follows", "differs"),
    [
        ("constant", "1.50", None, None, "24.50", "24.51"),
        ("share", "0.1", "subtotal", None, "25.00", "25.02"),
        ("at_most", "0.1", "subtotal", "1.50", "24.50", "25.00"),
        ("at_most", "0.1", "subtotal", "2.50", "25.00", "25.50"),
        ("at_most", "-0.1", "subtotal", "-1.50", "21.50", "21.00"),
        ("at_least", "0.1", "subtotal", "2.50", "25.50", "25.00"),
        ("at_least", "0.1", "subtotal", "1.50", "25.00", "24.50"),
        ("zero", "0", None, None, "0", "1"),
        ("negated", "0", None, None, "-23", "-22"),
        ("step", "2", None, None, "22", "22.30"),
    ],
)
def test_orders_follow_the_pattern_of_their_population(
    kind: str, value: str, base: str | None, bound: str | None, follows: str, differs: str, run_table: Run
) -> None:
    """Orders that fit the rule, or are off by something else, do not count."""
    totals = {1: "23", 2: follows, 3: differs}
    found = {"residual_kind": kind, "residual_value": value, "residual_base": base, "residual_bound": bound}
    assert alike(run_table, totals, **found, is_pattern_open=True) == [2]


@pytest.mark.parametrize(("is_open", "ids"), [(True, [1]), (False, [])])
def test_a_pattern_that_is_not_open_has_no_orders(is_open: bool, ids: list[int], run_table: Run) -> None:
    """An order that is off is a break then."""
    found = {"residual_kind": "constant", "residual_value": "1.5", "is_pattern_open": is_open}
    assert alike(run_table, {1: "24.50"}, **found) == ids
