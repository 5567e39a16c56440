"""docs/models/daily_platform_sales.sql: one row per store, business day, sale class, platform and dispatch method."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sql.conftest import Run


def order(order_id: int, platform: str | None, method: str | None, **more: Any) -> dict[str, Any]:
    """Return a row of mart.orders: store 1, 10 January, counted."""
    return {
        "order_id": order_id,
        "store_id": 1,
        "business_date": "2026-01-10",
        "sale_class": "counted",
        "platform": platform,
        "dispatch_method": method,
        "currency": "EUR",
        "line_count": 1,
        "total_price": "1.5",
    } | more


def test_platforms_and_methods_are_apart(run_model: Run) -> None:
    """Each pair of platform and method has a row per class; null is a pair of its own, and nothing is dropped."""
    orders = [
        order(1, "web", "pick_up"),
        order(2, "web", "pick_up", total_price="2"),
        order(3, "web", "store_delivery"),
        order(4, "web", "pick_up", sale_class="excluded"),
        order(5, None, None, total_price=None),
    ]
    rows = run_model("daily_platform_sales", {"mart.orders": orders})
    columns = ("sale_class", "platform", "dispatch_method", "order_count", "total_price")
    assert [tuple(row[name] for name in columns) for row in rows] == [
        ("counted", "web", "pick_up", 2, Decimal("3.5")),
        ("counted", "web", "store_delivery", 1, Decimal("1.5")),
        ("counted", None, None, 1, None),
        ("excluded", "web", "pick_up", 1, Decimal("1.5")),
    ]


def test_check_finds_platforms_that_do_not_add_up(run_claim: Run) -> None:
    """A day of which the platforms have another amount is found."""
    name = "daily_platform_sales__tie_to_daily_store_sales"
    day: dict[str, Any] = {"store_id": 1, "business_date": "2026-01-10", "sale_class": "counted", "order_count": 1}
    day |= {"line_count": 1, "tip": None, "discount": None, "total_price": 5}
    given = {"own.daily_platform_sales": [day], "mart.daily_store_sales": [day]}
    assert run_claim(name, given) == []
    (found,) = run_claim(name, given | {"mart.daily_store_sales": [day | {"total_price": 4}]})
    assert (found["store_id"], found["sale_class"]) == (1, "counted")
