"""The checks that marts and loads add up: each with a clean case and a planted fault, to the cent."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

PARTS = ("subtotal_price", "delivery_price", "tip", "discount", "loyalty_discount", "total_price")
PLACE = {"store_id": 1, "business_date": "2026-01-10", "sale_class": "counted"}
NOWHERE = {"store_id": None, "business_date": None, "sale_class": "unmapped"}
ORDERS = [
    PLACE | {"order_id": 1, "line_count": 2, "unit_count": 3} | dict.fromkeys(PARTS, "1.0001"),
    PLACE | {"order_id": 2, "line_count": 1, "unit_count": None} | dict.fromkeys(PARTS),
    NOWHERE | {"order_id": 3, "line_count": 1, "unit_count": 1} | dict.fromkeys(PARTS, "-5"),
]


def bent(row: dict[str, Any], column: str) -> dict[str, Any]:
    """Return the row with one thing more in that column."""
    return row | {column: str(Decimal(str(row[column] or 0)) + Decimal("0.0001" if column in PARTS else 1))}


@pytest.mark.duckdb2
def test_mart_orders_tie_to_core_orders(run_check: Run) -> None:
    """An order that is missing, extra, or differs by a hundredth of a cent in any field is found."""
    claim = "mart.orders__tie_to_core_orders"
    source = [
        {"order_id": each["order_id"], "store_id": each["store_id"]} | {p: each[p] for p in PARTS} for each in ORDERS
    ]
    assert run_check(claim, {"core.orders": source, "mart.orders": ORDERS}) == []
    assert run_check(claim, {"core.orders": source, "mart.orders": ORDERS[1:]}) == [
        {"entity_id": 1, "location": "all", "detail": "rows off by -1"}
    ]
    assert run_check(claim, {"core.orders": source[1:], "mart.orders": ORDERS}) == [
        {"entity_id": 1, "location": "all", "detail": "rows off by 1"}
    ]
    for part in PARTS:
        for place, order in enumerate(ORDERS):
            planted = [*ORDERS[:place], bent(order, part), *ORDERS[place + 1 :]]
            found = run_check(claim, {"core.orders": source, "mart.orders": planted})
            assert [each["entity_id"] for each in found] == [order["order_id"]] * 2  # the row of each table


def test_local_times(run_check: Run) -> None:
    """An order with a time and without its local time is found."""
    claim = "mart.orders__have_local_times"
    clean = [
        {"order_id": 1, "created_at": "2026-01-10T12:00:00Z", "created_at_local": "2026-01-10 13:00:00"},
        {"order_id": 2},
    ]
    assert run_check(claim, {"mart.orders": clean}) == []
    planted = {"order_id": 3, "created_at": "2026-01-10T12:00:00Z"}
    assert run_check(claim, {"mart.orders": [*clean, planted]}) == [{"entity_id": 3, "location": "created_at_local"}]


def test_lines_of_orders(run_check: Run) -> None:
    """An order that counts a line or a unit too many is found, also one without lines."""
    claim = "mart.orders__match_their_lines"
    lines = [
        {"order_id": 1, "line_no": 1, "quantity": 3},
        {"order_id": 1, "line_no": 2, "quantity": None},
        {"order_id": 2, "line_no": 1, "quantity": None},
    ]
    clean: list[dict[str, Any]] = [
        {"order_id": 1, "line_count": 2, "unit_count": 3},
        {"order_id": 2, "line_count": 1, "unit_count": None},
        {"order_id": 3, "line_count": 0, "unit_count": 0},
    ]
    assert run_check(claim, {"core.order_lines": lines, "mart.orders": clean}) == []
    for place, order in enumerate(clean):
        for column in ("line_count", "unit_count"):
            planted = [*clean[:place], bent(order, column), *clean[place + 1 :]]
            found = run_check(claim, {"core.order_lines": lines, "mart.orders": planted})
            assert [row["entity_id"] for row in found] == [order["order_id"]]


DAILY = [
    PLACE | {"order_count": 2, "line_count": 3, "unit_count": 3} | dict.fromkeys(PARTS, "1.0001"),
    NOWHERE | {"order_count": 1, "line_count": 1, "unit_count": 1} | dict.fromkeys(PARTS, "-5"),
]


@pytest.mark.duckdb2
@pytest.mark.parametrize("column", ["order_count", "line_count", "unit_count", *PARTS])
def test_daily_sales_tie(run_check: Run, column: str) -> None:
    """A day off by one order, line or unit, or by a hundredth of a cent in any part, is found; a null day too."""
    claim = "mart.daily_store_sales__tie_to_orders"
    assert run_check(claim, {"mart.orders": ORDERS, "mart.daily_store_sales": DAILY}) == []
    for row, place in (
        (0, (1, "business_date 2026-01-10, sale_class counted")),
        (1, (None, "no business_date, sale_class unmapped")),
    ):
        planted = [bent(each, column) if n == row else each for n, each in enumerate(DAILY)]
        found = run_check(claim, {"mart.orders": ORDERS, "mart.daily_store_sales": planted})
        assert [(each["entity_id"], each["location"]) for each in found] == [place]


def test_an_order_in_the_wrong_class_is_found(run_check: Run) -> None:
    """Days whose classes are swapped are off in both, though their sum is right."""
    claim = "mart.daily_store_sales__tie_to_orders"
    swapped = [DAILY[0] | {"sale_class": "excluded"}, DAILY[1]]
    found = run_check(claim, {"mart.orders": ORDERS, "mart.daily_store_sales": swapped})
    assert [each["location"].partition(", ")[2] for each in found] == ["sale_class counted", "sale_class excluded"]


@pytest.mark.duckdb2
@pytest.mark.parametrize("column", ["line_count", "unit_count"])
def test_product_mix_ties(run_check: Run, column: str) -> None:
    """A product that has a line or unit too many is found."""
    claim = "mart.product_mix__ties_to_orders"
    mix = [
        PLACE | {"product_id": 5, "line_count": 1, "unit_count": 3},
        PLACE | {"product_id": None, "line_count": 2, "unit_count": None},
        NOWHERE | {"product_id": 5, "line_count": 1, "unit_count": 1},
    ]
    assert run_check(claim, {"mart.daily_store_sales": DAILY, "mart.product_mix": mix}) == []
    for row, place in (
        (1, "business_date 2026-01-10, sale_class counted"),
        (2, "no business_date, sale_class unmapped"),
    ):
        planted = [bent(each, column) if n == row else each for n, each in enumerate(mix)]
        found = run_check(claim, {"mart.daily_store_sales": DAILY, "mart.product_mix": planted})
        assert [each["location"] for each in found] == [place]


def test_reconciliation_ties(run_check: Run) -> None:
    """An order that is not reconciled, or with other amounts, is found."""
    claim = "mart.order_reconciliation__ties_to_orders"
    orders: list[dict[str, Any]] = [ORDERS[0] | {"currency": "EUR"}, ORDERS[2]]
    clean: list[dict[str, Any]] = [
        {name: value for name, value in each.items() if name not in {"line_count", "unit_count"}} for each in orders
    ]
    assert run_check(claim, {"mart.orders": orders, "mart.order_reconciliation": clean}) == []
    changes = [{part: "1.0002"} for part in PARTS]
    changes += [{"currency": None}, {"sale_class": "deleted"}, {"business_date": None}, {"store_id": 2}]
    for change in changes:
        planted = [clean[0] | change, clean[1]]
        found = run_check(claim, {"mart.orders": orders, "mart.order_reconciliation": planted})
        assert [row["entity_id"] for row in found] == [1, 1]  # the row of each table
    found = run_check(claim, {"mart.orders": orders, "mart.order_reconciliation": clean[:1]})
    assert found == [{"entity_id": 3, "location": "all", "detail": "rows off by -1"}]


@pytest.mark.parametrize("of", ["total", "subtotal"])
def test_residuals_are_exact(run_check: Run, of: str) -> None:
    """An order whose formula and residual are not what it states is found; unknown ones are not."""
    claim = "mart.order_reconciliation__has_exact_residuals"
    clean = {"order_id": 1, f"{of}_price": "1.0001", f"formula_{of}": "1.0002", f"{of}_residual": "-0.0001"}
    assert run_check(claim, {"mart.order_reconciliation": [clean, {"order_id": 2, f"{of}_price": "1"}]}) == []
    for change in ({f"{of}_price": "1"}, {f"{of}_residual": "0"}, {f"formula_{of}": "1.0001"}):
        found = run_check(claim, {"mart.order_reconciliation": [clean | change]})
        assert found == [{"entity_id": 1, "location": f"{of}_price"}]


def test_lines_and_unallocated_make_the_subtotal(run_check: Run) -> None:
    """An order whose lines and unallocated amount are not its subtotal is found; an unknown amount counts as zero."""
    claim = "mart.order_reconciliation__lines_and_unallocated_equal_subtotal"
    clean = {"order_id": 1, "subtotal_price": "3", "line_amount": "2", "unallocated_amount": "1"}
    unknown = {"order_id": 2, "line_amount": "2", "unallocated_amount": "-2"}
    assert run_check(claim, {"mart.order_reconciliation": [clean, unknown]}) == []
    found = run_check(claim, {"mart.order_reconciliation": [clean | {"unallocated_amount": "1.0001"}, unknown]})
    assert [(row["entity_id"], row["residual"]) for row in found] == [(1, Decimal("0.0001"))]


@pytest.mark.duckdb2
@pytest.mark.parametrize(
    "change", [{"not_found_count": 0}, {"received_count": 6}, {"validated_count": 4}, {"payload_count": 6}]
)
def test_loads_add_up(run_check: Run, change: dict[str, int]) -> None:
    """A load in which a body has no verdict, or two, is found."""
    claim = "audit.loads__add_up"
    verdicts = ("accepted", "unchanged", "quarantined", "not_found", "failed")
    clean = {"load_id": "L1", "payload_count": 5, "received_count": 5, "validated_count": 5}
    clean |= {f"{verdict}_count": 1 for verdict in verdicts}
    assert run_check(claim, {"audit.loads": [clean]}) == []
    planted = clean | {"load_id": "L2"} | change
    assert [row["location"] for row in run_check(claim, {"audit.loads": [clean, planted]})] == ["L2"]
