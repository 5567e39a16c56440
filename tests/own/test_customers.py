"""docs/models/customers.sql: one row per customer, sale class and currency."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def order(order_id: int, day: int | None, **more: Any) -> dict[str, Any]:
    """Return a row of mart.orders of customer a in store 1, created on a day of January."""
    return {
        "order_id": order_id,
        "customer_key": "a",
        "store_id": 1,
        "business_date": day and f"2026-01-{day:02d}",
        "created_at": day and f"2026-01-{day:02d} 12:00:00+00",
        "sale_class": "counted",
        "currency": "EUR",
        "total_price": "1.5",
    } | more


def test_first_last_and_sums(run_model: Run) -> None:
    """A customer's orders are counted by class and currency, with the first and last; who has no key is in no row."""
    orders = [
        order(9, 3),
        order(7, 5, store_id=2),
        order(8, 5, total_price=None),
        order(1, None),
        order(5, 9, sale_class="deleted"),
        order(6, 9, currency="USD"),
        order(4, 1, customer_key=None),
        order(3, 2, customer_key="b"),
    ]
    rows = run_model("customers", {"mart.orders": orders})
    columns = (
        "customer_key",
        "sale_class",
        "currency",
        "first_order_id",
        "last_order_id",
        "order_count",
        "total_price",
    )
    assert [tuple(row[name] for name in columns) for row in rows] == [
        ("a", "counted", "EUR", 9, 8, 4, Decimal("4.5")),
        ("a", "counted", "USD", 6, 6, 1, Decimal("1.5")),
        ("a", "deleted", "EUR", 5, 5, 1, Decimal("1.5")),
        ("b", "counted", "EUR", 3, 3, 1, Decimal("1.5")),
    ]
    assert (rows[0]["store_count"], rows[0]["day_count"]) == (2, 2)
    assert (rows[0]["first_created_at"].day, rows[0]["last_created_at"].day) == (3, 5)


def test_only_orders_without_a_time(run_model: Run) -> None:
    """Of orders without a time the lowest id is the first and the highest the last."""
    (row,) = run_model("customers", {"mart.orders": [order(n, None, business_date=None) for n in (2, 3, 1)]})
    assert (row["first_order_id"], row["last_order_id"], row["first_created_at"], row["day_count"]) == (1, 3, None, 0)


def test_no_keys_no_rows(run_model: Run) -> None:
    """Without keys the table is empty."""
    assert run_model("customers", {"mart.orders": [order(1, 1, customer_key=None)]}) == []
