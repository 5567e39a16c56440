"""mart.order_reconciliation: the total that the service states beside the total by the formula."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[[str, dict[str, list[dict[str, Any]]]], list[dict[str, Any]]]

PARTS = ("subtotal_price", "delivery_price", "tip", "discount", "loyalty_discount", "total_price")


def order(*amounts: str | None) -> dict[str, Any]:
    """Return a row of mart.orders with these six amounts, the total last."""
    return {"order_id": 1, "sale_class": "counted"} | dict(zip(PARTS, amounts, strict=True))


def reconciled(run_table: Run, *amounts: str | None) -> dict[str, Any]:
    """Return the one row of such an order."""
    (row,) = run_table("mart.order_reconciliation", {"mart.orders": [order(*amounts)]})
    return row


@pytest.mark.duckdb2
def test_balanced(run_table: Run) -> None:
    """Subtotal, delivery and tip less both discounts is the total, exactly."""
    row = reconciled(run_table, "10.1", "2.2", "1.3", "0.5", "0.1", "13")
    assert (row["formula_total"], row["total_residual"], row["verdict"]) == (13, 0, "balanced")
    assert row["missing_parts"] == []


@pytest.mark.duckdb2
@pytest.mark.parametrize(("total", "residual"), [("13.0001", "0.0001"), ("12.9999", "-0.0001"), ("1300", "1287")])
def test_total_off(run_table: Run, total: str, residual: str) -> None:
    """There is no tolerance: a hundredth of a cent is off, and its sign says which way."""
    row = reconciled(run_table, "10.1", "2.2", "1.3", "0.5", "0.1", total)
    assert (row["total_residual"], row["verdict"]) == (Decimal(residual), "total_off")


@pytest.mark.parametrize("missing", range(6))
def test_a_part_that_is_missing_is_not_nothing(run_table: Run, missing: int) -> None:
    """An order without one of the six amounts cannot be told, and the amount is named."""
    amounts = ["0"] * 6
    row = reconciled(run_table, *[None if n == missing else each for n, each in enumerate(amounts)])
    assert (row["verdict"], row["total_residual"], row["missing_parts"]) == ("cannot_tell", None, [PARTS[missing]])


def test_the_largest_amounts(run_table: Run) -> None:
    """Amounts of fourteen digits are added without losing or overflowing a digit."""
    most = "99999999999999.9999"
    row = reconciled(run_table, most, most, most, "-" + most, "-" + most, "-" + most)
    assert row["formula_total"] == 5 * Decimal(most)
    assert row["total_residual"] == -6 * Decimal(most)
