"""Amounts of different currencies are never added, not even what rules leave over."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb

USUAL = "unit_price/modifiers_per_unit_by_own/all_add/before_discount/unrounded"
OBSERVED = "observed/unrounded"
SUMS = """
    select scope, scope_value, currency, residual_sum, largest_residual from audit.formula_evidence
    where part = 'total' and rule = ?
"""


def residuals(con: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], tuple[str | None, Decimal | None, Decimal]]:
    """Return currency, sum and largest residual of the observed formula by scope and its value."""
    return {(row[0], row[1]): row[2:] for row in con.execute(SUMS, [OBSERVED]).fetchall()}


def test_residuals_of_two_currencies_have_no_sum(make_orders: Any, state: Any, gather: Any) -> None:
    """Where stores have two currencies the sum is null in what they share, and stays in each store; the size stays."""
    orders = make_orders(30, 300)
    state(orders, USUAL, OBSERVED)
    for order in orders:
        order.currency = "EUR" if order.store_id == 1 else "BRL"
        order.platform = "web" if order.store_id == 1 else "ios"
        order.total += 1 if order.store_id == 1 else 2
    stores = {each: [order for order in orders if order.store_id == each] for each in (1, 2, 3)}
    found = residuals(gather(orders))
    assert found["all", "all"] == (None, None, Decimal(2))
    assert found["dispatch_method", "pick_up"] == (None, None, Decimal(2))
    assert found["month", "2026-10"] == (None, None, Decimal(2))
    assert found["platform", "web"] == found["store", "1"] == ("EUR", len(stores[1]), Decimal(1))
    assert found["store", "2"] == ("BRL", 2 * len(stores[2]), Decimal(2))
    assert found["platform", "ios"] == ("BRL", 2 * (len(stores[2]) + len(stores[3])), Decimal(2))


def test_days_of_one_currency_each_do_not_add_either(make_orders: Any, state: Any, gather: Any) -> None:
    """A currency that changed overnight, and one that is not stated, are other currencies too."""
    orders = make_orders(31, 100)
    state(orders, USUAL, OBSERVED)
    last = max(order.business_date for order in orders)
    for order in orders:
        order.currency = None if order.business_date == last else "EUR"
    assert residuals(gather(orders))["all", "all"] == (None, None, Decimal(0))
    for order in orders:
        order.currency = None
    assert residuals(gather(orders))["all", "all"] == (None, Decimal(0), Decimal(0))
