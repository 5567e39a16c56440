"""The checks that lines, residuals and days add up: each with a clean case and a planted fault, to the cent."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Given, Run

PLACE = {"store_id": 1, "business_date": "2026-01-10", "sale_class": "counted", "currency": "EUR"}
NOWHERE = {"store_id": None, "business_date": None, "sale_class": "unmapped", "currency": None}
MOST = "99999999999999.9999"
ORDERS = [PLACE | {"order_id": 1, "subtotal_price": MOST}, NOWHERE | {"order_id": 2}]
LINES = [
    PLACE | {"order_id": 1, "line_no": 1, "product_id": 5, "quantity": 2, "line_amount": MOST},
    NOWHERE | {"order_id": 2, "line_no": 1, "missing_amount_reason": "no_rule"},
]


@pytest.mark.duckdb2
def test_discount_shares_add_up(run_check: Run) -> None:
    """A share too many, too few or too large is found; an order whose lines have none is not."""
    claim = "mart.order_lines__share_the_discount"
    orders = [ORDERS[0] | {"discount": "1"}, ORDERS[1]]
    lines = [LINES[0] | {"discount_share": "0.4"}, LINES[0] | {"line_no": 2, "discount_share": "0.6"}, LINES[1]]
    assert run_check(claim, {"mart.orders": orders, "mart.order_lines": lines}) == []
    for place, share, residual in ((0, "0.4001", "0.0001"), (1, None, "-0.6"), (2, "0", None)):
        planted = [line | ({"discount_share": share} if n == place else {}) for n, line in enumerate(lines)]
        (found,) = run_check(claim, {"mart.orders": orders, "mart.order_lines": planted})
        assert (found["entity_id"], found["residual"]) == (lines[place]["order_id"], residual and Decimal(residual))


@pytest.mark.duckdb2
def test_mart_lines_tie_to_core_lines(run_check: Run) -> None:
    """A line that is missing, extra, on another day, or of another quantity or product is found."""
    claim = "mart.order_lines__tie_to_core_order_lines"
    source = [{name: line.get(name) for name in ("order_id", "line_no", "product_id", "quantity")} for line in LINES]
    given: Given = {"core.order_lines": source, "mart.orders": ORDERS}
    assert run_check(claim, given | {"mart.order_lines": LINES}) == []
    assert run_check(claim, given | {"mart.order_lines": LINES[:1]}) == [
        {"entity_id": 2, "location": "line_no 1", "detail": "rows off by -1"}
    ]
    assert run_check(claim, given | {"mart.order_lines": [*LINES, LINES[0] | {"line_no": 2}]}) == [
        {"entity_id": 1, "location": "line_no 2", "detail": "rows off by 1"}
    ]
    changes = ({"quantity": 3}, {"product_id": None}, {"sale_class": "deleted"}, {"business_date": None})
    for change in (*changes, {"store_id": 2}, {"currency": "BRL"}):
        found = run_check(claim, given | {"mart.order_lines": [LINES[0] | change, LINES[1]]})
        assert [(each["entity_id"], each["location"]) for each in found] == [(1, "line_no 1")] * 2  # of each table


@pytest.mark.duckdb2
def test_no_amount_without_a_rule(run_check: Run) -> None:
    """An amount without a rule is found, and a missing amount without a reason."""
    claim = "mart.order_lines__have_amounts_only_under_a_rule"
    rules = [{"order_id": 1, "line_rule": "a/rule"}, {"order_id": 2}]
    assert run_check(claim, {"mart.order_lines": LINES, "audit.order_rules": rules}) == []
    for change in ({"line_amount": "1", "missing_amount_reason": None}, {"missing_amount_reason": None}):
        planted = [LINES[0], LINES[1] | change]
        (found,) = run_check(claim, {"mart.order_lines": planted, "audit.order_rules": rules})
        assert (found["entity_id"], found["location"]) == (2, "line 1")


@pytest.mark.duckdb2
def test_product_mix_ties_to_lines(run_check: Run) -> None:
    """A product that differs by a hundredth of a cent, or by an unvalued line, is found."""
    claim = "mart.product_mix__ties_to_order_lines"
    mix = [
        PLACE | {"product_id": 5, "line_amount": MOST, "unvalued_line_count": 0},
        NOWHERE | {"product_id": None, "unvalued_line_count": 1},
    ]
    mix = [{name: value for name, value in row.items() if name != "currency"} for row in mix]
    assert run_check(claim, {"mart.order_lines": LINES, "mart.product_mix": mix}) == []
    planted = [mix[0] | {"line_amount": "99999999999999.9998"}, mix[1]]
    (found,) = run_check(claim, {"mart.order_lines": LINES, "mart.product_mix": planted})
    assert (found["location"], found["detail"]) == (
        "business_date 2026-01-10, sale_class counted",
        "line_amount off by -0.0001",
    )
    planted = [mix[0], mix[1] | {"unvalued_line_count": 0}]
    (found,) = run_check(claim, {"mart.order_lines": LINES, "mart.product_mix": planted})
    assert found["location"] == "no business_date, sale_class unmapped"


@pytest.mark.duckdb2
def test_lines_and_unallocated_equal_subtotal(run_check: Run) -> None:
    """A day whose lines and unallocated amount miss its subtotal by a hundredth of a cent is found."""
    claim = "mart.daily_reconciliations__lines_and_unallocated_equal_subtotal"
    days = [PLACE | {"unallocated_amount": "0"}, NOWHERE | {"unallocated_amount": "0"}]
    sales = [PLACE | {"subtotal_price": MOST}, NOWHERE | {"subtotal_price": None}]
    mix = [PLACE | {"product_id": 5, "line_amount": MOST}, NOWHERE | {"product_id": 5, "line_amount": None}]
    given: Given = {"mart.daily_store_sales": sales, "mart.product_mix": mix}
    assert run_check(claim, given | {"mart.daily_reconciliations": days}) == []
    planted = [days[0], days[1] | {"unallocated_amount": "0.0001"}]
    assert run_check(claim, given | {"mart.daily_reconciliations": planted}) == [
        {
            "entity_id": None,
            "location": "no business_date, sale_class unmapped",
            "detail": "unallocated_amount off by 0.0001",
        }
    ]
    lost = given | {"mart.product_mix": mix[1:], "mart.daily_reconciliations": days}
    assert run_check(claim, lost)[0]["detail"] == f"unallocated_amount off by -{MOST}"


RECONCILED: list[dict[str, Any]] = [
    PLACE
    | {
        "order_id": 1,
        "verdict": "both_break",
        "subtotal_price": MOST,
        "delivery_price": "1",
        "tip": "2",
        "discount": "3",
        "loyalty_discount": "4",
        "total_price": "5",
        "line_amount": "6",
        "unallocated_amount": "7",
        "formula_subtotal": "8",
        "subtotal_residual": "-9",
        "formula_total": "10",
        "total_residual": "-11",
    },
    NOWHERE | {"order_id": 2, "verdict": "indeterminate", "unallocated_amount": "0"},
]
COUNTS = (
    "order_count",
    "balanced_count",
    "total_break_count",
    "subtotal_break_count",
    "both_break_count",
    "indeterminate_count",
    "break_count",
)
AMOUNTS = tuple(name for name in RECONCILED[0] if name not in {*PLACE, "order_id", "verdict"})
DAYS: list[dict[str, Any]] = [
    PLACE
    | dict.fromkeys(COUNTS, 0)
    | {"order_count": 1, "both_break_count": 1, "break_count": 1}
    | {name: RECONCILED[0][name] for name in AMOUNTS}
    | {"subtotal_abs_residual": "9", "total_abs_residual": "11"},
    NOWHERE | dict.fromkeys(COUNTS, 0) | {"order_count": 1, "indeterminate_count": 1, "unallocated_amount": "0"},
]


@pytest.mark.duckdb2
@pytest.mark.parametrize("column", [*COUNTS, *AMOUNTS, "subtotal_abs_residual", "total_abs_residual"])
def test_daily_reconciliations_tie_to_orders(run_check: Run, column: str) -> None:
    """A day that differs by an order of any verdict, or by a hundredth of a cent in any sum, is found."""
    claim = "mart.daily_reconciliations__tie_to_order_reconciliation"
    given: Given = {"mart.order_reconciliation": RECONCILED}
    assert run_check(claim, given | {"mart.daily_reconciliations": DAYS}) == []
    more = 1 if column in COUNTS else Decimal("0.0001")
    bent = DAYS[0] | {column: str(Decimal(DAYS[0][column]) + more)}
    found = run_check(claim, given | {"mart.daily_reconciliations": [bent, DAYS[1]]})
    assert [row["location"] for row in found] == ["business_date 2026-01-10, sale_class counted, currency EUR"]


def test_missing_or_repeated_day_is_found(run_check: Run) -> None:
    """A day without a row, or with two of different currencies, is found."""
    claim = "mart.daily_reconciliations__tie_to_order_reconciliation"
    given: Given = {"mart.order_reconciliation": RECONCILED}
    assert [row["entity_id"] for row in run_check(claim, given | {"mart.daily_reconciliations": DAYS[1:]})] == [1]
    twice = run_check(claim, given | {"mart.daily_reconciliations": [DAYS[0], *DAYS]})
    assert [row["entity_id"] for row in twice] == [1]
    mixed = [*RECONCILED, RECONCILED[0] | {"order_id": 3, "currency": "BRL"}]
    found = run_check(claim, {"mart.order_reconciliation": mixed, "mart.daily_reconciliations": DAYS})
    assert [row["entity_id"] for row in found] == [1]


def test_subtotal_break_is_found(run_check: Run) -> None:
    """An order whose subtotal does not follow from its lines is listed, with residual and likely cause."""
    claim = "mart.order_reconciliation__subtotal_follows_the_rule"
    clean = [{"order_id": 1, "subtotal_residual": "0"}, {"order_id": 2}]
    assert run_check(claim, {"mart.order_reconciliation": clean}) == []
    planted = {"order_id": 3, "subtotal_residual": "-0.0001", "subtotal_likely_cause": "rounding"}
    assert run_check(claim, {"mart.order_reconciliation": [*clean, planted]}) == [
        {"entity_id": 3, "location": "subtotal_price", "residual": Decimal("-0.0001"), "detail": "rounding"}
    ]
