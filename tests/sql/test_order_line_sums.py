"""workings.order_line_sums: the possible sums of a line's modifiers, in exact decimals."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

MOST = Decimal("99999999999999.9999")
SUMS = ("add_once", "add_own", "other_once", "other_own")
FLAGS = ("has_modifiers", "has_own", "has_other", "is_whole")


def sums(run_table: Run, *modifiers: tuple[Any, ...], **line: Any) -> dict[str, Any]:
    """Return the row of a line with modifiers (price, quantity, action)."""
    (row,) = run_table(
        "workings.order_line_sums",
        {
            "core.order_lines": [{"order_id": 1, "line_no": 2, "quantity": 2, "price": "5"} | line],
            "core.order_line_modifiers": [
                {"order_id": 1, "line_no": 2, "modifier_no": number, "price": price, "quantity": own, "action": action}
                for number, (price, own, action) in enumerate(modifiers, 1)
            ],
        },
    )
    return row


@pytest.mark.duckdb2
def test_modifiers_add_up_by_action_and_quantity(run_table: Run) -> None:
    """Once and by their own quantity; those added apart from all others, to which one without an action belongs."""
    row = sums(run_table, ("1.5", 2, "add"), ("0.25", 1, "add"), ("0.1", 3, "remove"), ("0.05", 2, None))
    assert [row[name] for name in SUMS] == [Decimal(each) for each in ("1.75", "3.25", "0.15", "0.4")]
    assert [row[name] for name in FLAGS] == [True, True, True, True]


def test_line_without_priced_modifiers_adds_nothing(run_table: Run) -> None:
    """No modifier, or only those of price zero: sums of zero, and nothing that it could tell."""
    for row in (sums(run_table), sums(run_table, ("0", 5, "remove"), ("0", None, None))):
        assert [row[name] for name in SUMS] == [0, 0, 0, 0]
        assert [row[name] for name in FLAGS] == [False, False, False, True]


def test_each_flag_has_its_cause(run_table: Run) -> None:
    """Another quantity than one, and another action than add, have flags of their own."""
    assert [sums(run_table, ("1", 1, "add"))[name] for name in FLAGS] == [True, False, False, True]
    assert [sums(run_table, ("1", 0, "add"))[name] for name in FLAGS] == [True, True, False, True]
    assert [sums(run_table, ("1", 1, "swap"))[name] for name in FLAGS] == [True, False, True, True]


@pytest.mark.parametrize(
    ("line", "modifier"),
    [
        ({"price": None}, ("1", 1, "add")),
        ({"quantity": None}, ("1", 1, "add")),
        ({"quantity": 1_000_001}, ("1", 1, "add")),
        ({"quantity": -1_000_001}, ("1", 1, "add")),
        ({}, (None, 1, "add")),
        ({}, ("1", None, "add")),
        ({}, ("1", 1_000_001, "add")),
        ({}, ("1", -1_000_001, "remove")),
    ],
)
def test_line_lacking_a_value_is_not_whole(run_table: Run, line: dict[str, Any], modifier: tuple[Any, ...]) -> None:
    """A price or quantity that is not stated, or beyond a million, leaves the line without a test."""
    row = sums(run_table, ("0.5", 1, "add"), modifier, **line)
    assert (row["is_whole"], row["has_modifiers"]) == (False, True)


def test_a_million_is_still_counted(run_table: Run) -> None:
    """The largest quantity and the largest price that a document can state, exactly; both signs."""
    row = sums(
        run_table, (str(MOST), 1_000_000, "add"), ("1", 10_000, "add"), ("2", -1_000_000, "x"), quantity=-(10**6)
    )
    assert [row[name] for name in SUMS] == [MOST + 1, MOST * 10**6 + 10_000, 2, -2_000_000]
    assert row["is_whole"]


@pytest.mark.parametrize(
    ("price", "decimals"), [("5", 0), ("5.0", 0), ("5.5", 1), ("5.25", 2), ("-5.125", 3), ("0.0001", 4)]
)
def test_decimals_are_those_of_its_prices(run_table: Run, price: str, decimals: int) -> None:
    """The most that the line's price or one of its modifiers' needs."""
    assert sums(run_table, price=price)["decimals"] == decimals
    assert sums(run_table, ("1", 1, "add"), (price, 1, "add"))["decimals"] == decimals
    assert sums(run_table, (price, 2, "remove"), price="1.5")["decimals"] == max(1, decimals)


def test_decimals_of_a_line_without_any_price(run_table: Run) -> None:
    """There are none, and the largest amount has four."""
    assert sums(run_table, price=None)["decimals"] is None
    assert sums(run_table, price=str(MOST))["decimals"] == 4


def test_lines_are_kept_apart(run_table: Run) -> None:
    """A modifier adds to its own line of its own order alone; every line is a row, with its product and name."""
    lines = [(1, 1), (1, 2), (2, 1)]
    rows = run_table(
        "workings.order_line_sums",
        {
            "core.order_lines": [
                {"order_id": order, "line_no": line, "product_id": 5, "name": "Tea", "quantity": 1, "price": "1"}
                for order, line in lines
            ],
            "core.order_line_modifiers": [
                {"order_id": 1, "line_no": 2, "modifier_no": 1, "price": "2", "quantity": 1, "action": "add"},
                {"order_id": 2, "line_no": 1, "modifier_no": 1, "price": "3", "quantity": 1, "action": "x"},
            ],
        },
    )
    assert [(row["order_id"], row["line_no"], row["add_once"], row["other_once"]) for row in rows] == [
        (1, 1, 0, 0),
        (1, 2, 2, 0),
        (2, 1, 0, 3),
    ]
    assert {(row["product_id"], row["name"], row["price"]) for row in rows} == {(5, "Tea", Decimal(1))}
