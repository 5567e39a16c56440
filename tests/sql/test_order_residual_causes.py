"""workings.order_residual_causes: the likely cause of a residual; tests of mart.order_reconciliation try each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

SIGNS = {"rule_target": "total", "rule": "plain", "rule_parameters": [1, 1, 1, -1, -1]}
LINES = {"rule_target": "subtotal", "rule": "lines", "rule_parameters": [0, 0, 0, 0, 0, 0]}


def residual(target: str, amount: str, **columns: Any) -> dict[str, Any]:
    """Return a residual of an order with a tip of 1.30 and a delivery charge of 2."""
    rule = "plain" if target == "total" else "lines"
    found = {"order_id": 1, "rule_target": target, "rule": rule, "population_no": 2, "residual": amount}
    return found | {"expected": "40", "stated": str(40 + float(amount)), "tip": "1.3", "delivery_price": "2"} | columns


def causes(run_table: Run, *residuals: dict[str, Any], **population: Any) -> list[tuple[str, str]]:
    """Return the causes by rule target."""
    pattern = {"rule_target": "total", "population_no": 2} | population
    order: dict[str, Any] = {"order_id": 1}
    sums: dict[str, Any] = {"order_id": 1}
    for each in residuals:
        target = each["rule_target"]
        columns = {"residual": f"{target}_residual", "expected": f"formula_{target}", "rule": f"{target}_rule"}
        columns |= {"population_no": f"{target}_population_no"}
        sums |= {column: each[name] for name, column in columns.items()}
        order |= {f"{target}_price": each["stated"]}
        order |= {name: value for name, value in each.items() if name not in {*columns, "rule_target", "stated"}}
    rows = run_table(
        "workings.order_residual_causes",
        {
            "mart.orders": [order],
            "workings.order_formula_amounts": [sums],
            "audit.formula_rules": [SIGNS, LINES],
            "audit.formula_populations": [pattern],
            "mart.order_lines": [{"order_id": 1, "line_no": 1, "line_amount": "7"}],
        },
    )
    return [(row["rule_target"], row["likely_cause"]) for row in rows]


def test_the_only_exact_explanation_is_the_cause(run_table: Run) -> None:
    """Each residual has its own; none of two, and none that is near; a rule's signs are those of the total alone."""
    assert causes(run_table, residual("subtotal", "7"), residual("total", "-1.3")) == [
        ("subtotal", "line"),
        ("total", "tip"),
    ]
    assert causes(run_table, residual("total", "-2.6"), residual("subtotal", "-2.6")) == [("total", "sign_of_tip")]
    assert causes(run_table, residual("total", "2", tip="2")) == []
    assert causes(run_table, residual("total", "1.31")) == []


def test_rounding_is_less_than_a_unit(run_table: Run) -> None:
    """A stated amount that is the computed one rounded; a whole unit more is not."""
    assert causes(run_table, residual("total", "0.4", expected="39.6", stated="40")) == [("total", "rounding")]
    assert causes(run_table, residual("total", "1.4", expected="39.6", stated="41")) == []


@pytest.mark.parametrize(
    ("base", "columns"),
    [
        ("subtotal", {"subtotal_price": "13"}),
        ("subtotal_less_discount", {"subtotal_price": "15", "discount": "2"}),
        ("delivery", {"delivery_price": "13", "tip": "5"}),
        ("tip", {"tip": "13", "discount": "7"}),
        ("discount", {"discount": "13", "tip": "7"}),
        ("loyalty", {"loyalty_discount": "13", "discount": "7"}),
    ],
)
def test_a_share_is_of_its_base(run_table: Run, base: str, columns: dict[str, Any]) -> None:
    """A tenth of just that amount of the order, to a unit of the currency."""
    share = {"residual_kind": "share", "residual_value": "0.1", "residual_base": base}
    for amount in ("1.29", "1.3", "1.31"):
        assert causes(run_table, residual("total", amount, **columns), **share) == [("total", "share_of_a_base")]
    for amount in ("1.28", "1.32"):
        assert ("total", "share_of_a_base") not in causes(run_table, residual("total", amount, **columns), **share)


@pytest.mark.parametrize(
    ("kind", "subtotal", "amount", "other"),
    [("at_most", "15", "1.3", "1.5"), ("at_most", "12", "1.2", "1.32"), ("at_least", "12", "1.3", "1.21")],
)
def test_a_share_has_its_bound(run_table: Run, kind: str, subtotal: str, amount: str, other: str) -> None:
    """A tenth of the subtotal, at most or at least 1.30."""
    found = {"residual_kind": kind, "residual_value": "0.1", "residual_base": "subtotal", "residual_bound": "1.3"}
    columns = {"subtotal_price": subtotal, "tip": "0"}
    assert causes(run_table, residual("total", amount, **columns), **found) == [("total", "share_of_a_base")]
    assert causes(run_table, residual("total", other, **columns), **found) == []


def test_a_pattern_of_its_population_comes_first(run_table: Run) -> None:
    """A cause that the residual follows to the cent, before a tip that is the same amount."""
    constant = {"residual_kind": "constant", "residual_value": "1.3"}
    assert causes(run_table, residual("total", "1.3"), **constant) == [("total", "constant_amount")]
    assert causes(run_table, residual("total", "-1.3"), **constant) == [("total", "tip")]
    assert causes(run_table, residual("total", "1.3", population_no=3), **constant) == [("total", "tip")]
