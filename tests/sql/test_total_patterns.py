"""workings.total_patterns: what an order holds, and which of 85 forms give its total."""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

# No two ways to add and subtract these give the same total.
PRICES = {"subtotal_price": 500, "delivery_price": 27, "tip": 9, "discount": 3, "loyalty_discount": 1}
# The signs of delivery, tip, discount and loyalty of the forms 1 to 81: as observed, not in it, the other way round.
SIGNS = list(itertools.product((1, 0, -1), (1, 0, -1), (-1, 0, 1), (-1, 0, 1)))
OBSERVED = 500 + 27 + 9 - 3 - 1


def patterns(run_table: Run, *orders: dict[str, Any], **components: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of orders 1, 2, … which state PRICES and the observed total unless they say otherwise."""
    given = [
        {"order_id": number, "currency": "EUR", **PRICES, "total_price": OBSERVED, **order}
        for number, order in enumerate(orders, 1)
    ]
    return run_table(
        "workings.total_patterns", {"mart.orders": given, "workings.order_components": components.get("of", [])}
    )


def fitting(row: dict[str, Any]) -> list[int]:
    """Return the numbers of the forms that fit."""
    assert len(row["fits"]) == 85
    return [number for number, fit in enumerate(row["fits"], 1) if fit == "1"]


@pytest.mark.duckdb2
def test_each_form_has_its_place(run_table: Run) -> None:
    """The total that one form gives is fitted by that form alone."""
    totals = [500 + 27 * d + 9 * t + 3 * x + y for d, t, x, y in SIGNS]
    totals += [OBSERVED - 500, OBSERVED - 1000, 0, -OBSERVED]
    rows = patterns(run_table, *({"total_price": total} for total in totals))
    assert [fitting(row) for row in rows] == [[number] for number in range(1, 86)]


def test_holds_says_what_an_order_can_test(run_table: Run) -> None:
    """Delivery, tip, discount, loyalty, subtotal, a component, a stated zero: each has its place."""
    nothing = dict.fromkeys(PRICES, 0) | {"total_price": 0}
    alone = [nothing | {name: -1, "total_price": 1} for name in ("delivery_price", "tip", "discount")]
    rows = patterns(
        run_table,
        nothing,
        *alone,
        nothing | {"loyalty_discount": 1},
        nothing | {"subtotal_price": 1, "total_price": 1},
        nothing | {"total_price": 1},
        nothing | {"subtotal_price": 1},
        of=[{"order_id": 7, "component_no": 1, "amount": "0"}],
    )
    assert [row["holds"] for row in rows] == [
        "0000000",
        "1000000",
        "0100000",
        "0010000",
        "0001000",
        "0000100",
        "0000010",
        "0000101",
    ]


def test_components_are_part_of_the_total(run_table: Run) -> None:
    """What all components of an order add up to is taken off before any form is tried."""
    given = [{"order_id": 1, "component_no": number, "amount": amount} for number, amount in ((1, "2"), (2, "-0.25"))]
    first, second = patterns(run_table, {"total_price": OBSERVED + Decimal("1.75")}, {}, of=given)
    assert (fitting(first), first["holds"][5]) == ([1], "1")
    assert (fitting(second), second["holds"][5]) == ([1], "0")


@pytest.mark.parametrize("name", [*PRICES, "total_price"])
def test_order_lacking_a_price_is_left_out(run_table: Run, name: str) -> None:
    """All six prices are needed, each below ten billion; a component that is unknown leaves it out too."""
    largest = {**dict.fromkeys(PRICES, 0), "total_price": 0} | {name: "9999999999.9999"}
    rows = patterns(run_table, {name: None}, {name: "10000000000"}, {name: "-10000000000"}, largest)
    assert [row["order_id"] for row in rows] == [4]


def test_component_beyond_bounds_leaves_an_order_out(run_table: Run) -> None:
    """An amount of ten billion is not tested."""
    of = [{"order_id": 1, "component_no": 1, "amount": "10000000000"}]
    assert patterns(run_table, {}, of=of) == []


def test_total_rounded_to_the_currency_may_differ_by_one_unit(run_table: Run) -> None:
    """A part with more decimals than the total can have allows one unit, not more; without any, nothing."""
    half = {"tip": "9.005"}
    rows = patterns(
        run_table,
        half | {"total_price": "532.01"},
        half | {"total_price": "532.015"},
        half | {"total_price": "532.0151"},
        {"total_price": "532.01"},
        {"currency": "JPY", "tip": "9.5", "total_price": "533"},
    )
    assert [(fitting(row), row["is_rounded"]) for row in rows] == [
        ([1], True),
        ([1], True),
        ([], True),
        ([], False),
        ([1, 2], True),  # a yen either way: with the loyalty discount, and without it
    ]


@pytest.mark.parametrize("name", [*PRICES, "component"])
def test_any_part_can_need_rounding(run_table: Run, name: str) -> None:
    """Half a cent in any part makes the total one that was rounded."""
    part = {} if name == "component" else {name: PRICES[name] + Decimal("0.005")}
    of = [{"order_id": 1, "component_no": 1, "amount": "0.005"}] if name == "component" else []
    (row,) = patterns(run_table, part, of=of)
    assert (row["is_rounded"], fitting(row)) == (True, [1])


def test_total_of_zero_is_no_sum_of_the_other_parts(run_table: Run) -> None:
    """Forms without the subtotal fit no total of zero, of which they would else explain every one; form 84 does."""
    zero = dict.fromkeys(PRICES, 0) | {"subtotal_price": 5, "total_price": 0}
    (row,) = patterns(run_table, zero)
    assert fitting(row) == [84]


@pytest.mark.parametrize(
    ("total", "forms"), [("532.05", [1]), ("532.00", [1]), ("531.95", []), ("532.10", []), ("532.03", []), ("532", [1])]
)
def test_a_total_rounded_to_a_step_is_a_multiple_near_its_sum(run_table: Run, total: str, forms: list[int]) -> None:
    """Of 532.025 both multiples beside it, as it lies between them; no other total, and none that is no multiple."""
    of = [{"order_id": 1, "component_no": 1, "amount": "0", "step": "0.05"}]
    (row,) = patterns(run_table, {"tip": "9.025", "total_price": total}, of=of)
    assert (row["is_rounded"], fitting(row)) == (False, forms)
