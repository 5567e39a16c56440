"""workings.subtotal_patterns: what an order holds, and which of 78 forms give its subtotal from its lines."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

# Three units at 1000; modifiers add 10 (twice by their own quantity), others are about 1 (four times by their own).
LINE = {
    "line_no": 1,
    "quantity": 3,
    "price": "1000",
    "add_once": "10",
    "add_own": "20",
    "other_once": "1",
    "other_own": "4",
    "has_modifiers": True,
    "has_own": True,
    "has_other": True,
    "is_whole": True,
    "decimals": 0,
}
PLAIN = LINE | dict.fromkeys(("add_once", "add_own", "other_once", "other_own"), "0")
PLAIN |= dict.fromkeys(("has_modifiers", "has_own", "has_other"), False)
# By action (all add, only add, others subtract) and way (unit by own, unit, line by own, line).
MODIFIERS = (
    (3 * (20 + 4), 3 * (10 + 1), 20 + 4, 10 + 1),
    (3 * 20, 3 * 10, 20, 10),
    (3 * (20 - 4), 3 * (10 - 1), 20 - 4, 10 - 1),
)


def patterns(
    run_table: Run, *orders: tuple[dict[str, Any], list[dict[str, Any]]], components: Any = ()
) -> list[dict[str, Any]]:
    """Return the rows of orders 1, 2, … with lines; discount 0 and EUR unless they say otherwise."""
    numbered = list(enumerate(orders, 1))
    return run_table(
        "workings.subtotal_patterns",
        {
            "mart.orders": [
                {"order_id": number, "currency": "EUR", "discount": "0", **order} for number, (order, _) in numbered
            ],
            "workings.order_line_sums": [
                {"order_id": number, **line, "line_no": place}
                for number, (_, lines) in numbered
                for place, line in enumerate(lines, 1)
            ],
            "workings.order_components": list(components),
        },
    )


def fitting(row: dict[str, Any]) -> list[int]:
    """Return the numbers of the forms that fit."""
    assert len(row["fits"]) == 78
    return [number for number, fit in enumerate(row["fits"], 1) if fit == "1"]


@pytest.mark.duckdb2
def test_each_form_has_its_place(run_table: Run) -> None:
    """The subtotal that one form gives is fitted by that form alone."""
    subtotals = [
        price + added + discount
        for discount in (0, -100, 100)
        for price in (3000, 1000)
        for added in (0, *(added for action in MODIFIERS for added in action))
    ]
    rows = patterns(run_table, *(({"subtotal_price": each, "discount": 100}, [LINE]) for each in subtotals))
    assert [fitting(row) for row in rows] == [[number] for number in range(1, 79)]


def test_lines_add_up(run_table: Run) -> None:
    """Each line counts by its own quantity, with its own modifiers."""
    other = PLAIN | {"quantity": -1, "price": "50"}
    (row,) = patterns(run_table, ({"subtotal_price": 3000 + 72 - 50}, [LINE, other]))
    assert 2 in fitting(row)
    assert 1 not in fitting(row)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "order", "holds"),
    [
        ({"quantity": 1}, {}, "0000000"),
        ({}, {}, "1000000"),
        ({"price": "0"}, {}, "0000000"),
        ({"quantity": 1, "has_modifiers": True}, {}, "0100000"),
        ({"price": "0", "has_modifiers": True}, {}, "0110000"),
        ({"quantity": 1, "has_modifiers": True, "has_own": True}, {}, "0101000"),
        ({"quantity": 1, "has_modifiers": True, "has_other": True}, {}, "0100100"),
        ({"quantity": 1}, {"discount": "-1"}, "0000010"),
        ({"quantity": 1}, {"subtotal_price": "0"}, "0000001"),
        ({"quantity": 1, "price": "0"}, {"subtotal_price": "0"}, "0000000"),
    ],
)
def test_holds_says_what_an_order_can_test(
    run_table: Run, line: dict[str, Any], order: dict[str, Any], holds: str
) -> None:
    """Quantity, modifiers, both, their quantity, another action, a discount, a stated zero: each has its place."""
    usual = PLAIN | {"quantity": 1, "price": "0"}
    rows = patterns(run_table, ({"subtotal_price": "7"} | order, [usual, PLAIN | line]))
    assert [row["holds"] for row in rows] == [holds]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "order"),
    [
        ({"is_whole": False}, {}),
        ({"price": "10000000000"}, {}),
        ({"quantity": 10_000}, {}),
        ({"add_once": "10000000000"}, {}),
        ({"add_own": "10000000000"}, {}),
        ({"other_once": "10000000000"}, {}),
        ({"other_own": "10000000000"}, {}),
        ({}, {"subtotal_price": None}),
        ({}, {"subtotal_price": "10000000000"}),
        ({}, {"discount": None}),
        ({}, {"discount": "-10000000000"}),
        ({"price": "9999999999"}, {}),
        ({"add_own": "9999999999"}, {}),
    ],
)
def test_order_beyond_bounds_is_left_out(run_table: Run, line: dict[str, Any], order: dict[str, Any]) -> None:
    """One line that lacks a value, or any amount or sum of ten billion, leaves the whole order without a test."""
    whole = ({"subtotal_price": "7"}, [PLAIN])
    rows = patterns(run_table, ({"subtotal_price": "7"} | order, [PLAIN, PLAIN | line]), whole)
    assert [row["order_id"] for row in rows] == [2]


def test_order_without_lines_is_left_out(run_table: Run) -> None:
    """Nothing can be compared."""
    assert patterns(run_table, ({"subtotal_price": "0"}, [])) == []


@pytest.mark.parametrize(
    ("subtotal", "fits"),
    [("3.015", True), ("3.045", True), ("2.985", True), ("3.0451", False), ("2.9849", False)],
)
def test_rounded_units_may_differ_by_one_cent_each(run_table: Run, subtotal: str, *, fits: bool) -> None:
    """Three units of a price with three decimals allow three cents, and not more."""
    line = PLAIN | {"price": "1.005", "decimals": 3}
    (row,) = patterns(run_table, ({"subtotal_price": subtotal, "discount": "0"}, [line]))
    assert (row["is_rounded"], 1 in fitting(row)) == (True, fits)


@pytest.mark.parametrize(("price", "decimals", "is_rounded"), [("1.01", 2, False), ("1.001", 3, True)])
def test_prices_in_cents_allow_nothing(run_table: Run, price: str, decimals: int, *, is_rounded: bool) -> None:
    """A subtotal that is a cent off fits no form, unless prices need more decimals than it can have."""
    line = PLAIN | {"quantity": 1, "price": price, "decimals": decimals}
    (row,) = patterns(run_table, ({"subtotal_price": "1.02" if decimals == 2 else "1.01"}, [line]))
    assert (row["is_rounded"], fitting(row) != []) == (is_rounded, is_rounded)


def test_discount_in_fractions_of_a_cent_allows_rounding(run_table: Run) -> None:
    """Half a cent off in the discount is one that the subtotal may have been rounded by."""
    line = PLAIN | {"quantity": 1, "price": "5", "decimals": 0}
    (row,) = patterns(run_table, ({"subtotal_price": Decimal("4.50"), "discount": Decimal("0.505")}, [line]))
    assert row["is_rounded"]
    assert 27 in fitting(row)  # price by quantity less the discount
    assert 1 not in fitting(row)


@pytest.mark.parametrize(
    ("factor", "stated", "forms"),
    [("1.08", "1000", [14, 40, 66]), ("1.08", "1000.02", []), ("-1", "-1080", [14, 40, 66]), ("1", "1000", [])],
)
def test_prices_that_are_a_multiple_of_the_subtotal_fit_it(
    run_table: Run, factor: str, stated: str, forms: list[int]
) -> None:
    """Within a unit of the currency where something is left out; a negated one exactly."""
    of = [{"order_id": 1, "component_no": 1, "amount": "0", "price_factor": factor}]
    (row,) = patterns(run_table, ({"subtotal_price": stated}, [LINE | {"price": "1080"}]), components=of)
    assert fitting(row) == forms
    assert row["is_rounded"] == (factor == "1.08")


def test_an_order_whose_factor_may_not_apply_is_left_out(run_table: Run) -> None:
    """It can be compared with nothing."""
    of = [{"order_id": 1, "component_no": 1, "amount": None, "price_factor": "1.08"}]
    assert patterns(run_table, ({"subtotal_price": "3000"}, [PLAIN]), components=of) == []
