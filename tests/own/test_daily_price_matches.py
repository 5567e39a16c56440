"""docs/models/daily_price_matches.sql: how many lines and modifiers of a day match their menus, with their money."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

MOST = "99999999999999.9999"


def test_matches_are_counted_by_day(run_model: Run) -> None:
    """Lines and modifiers that match uniquely, ambiguously or not at all are counted, with their money."""
    row = {"order_id": 1, "store_id": 9, "sale_class": "counted", "price_match": "price"}
    rows = run_model(
        "daily_price_matches",
        {
            "mart.price_variances": [
                row | {"line_no": 1, "menu_match": "unique", "price": MOST, "price_variance": "0"},
                row | {"line_no": 2, "menu_match": "unique", "price": "0.0001", "price_variance": "1"},
                row | {"line_no": 3, "menu_match": "ambiguous"},
                row | {"line_no": 3, "modifier_no": 1, "menu_match": "none"},
            ]
        },
    )
    assert [
        (each["item_type"], each["menu_match"], each["item_count"], each["price"], each["price_variance"])
        for each in rows
    ] == [
        ("line", "ambiguous", 1, None, None),
        ("line", "unique", 2, Decimal(10) ** 14, 1),
        ("modifier", "none", 1, None, None),
    ]


SOLD = {"order_id": 1, "store_id": 9, "sale_class": "counted", "menu_match": "unique", "price_match": "price"}


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("store_id", 8),
        ("store_id", None),
        ("business_date", "2026-10-06"),
        ("sale_class", "excluded"),
        ("dispatch_method", "pick_up"),
        ("modifier_no", 1),
        ("menu_match", "ambiguous"),
        ("price_match", "neither"),
    ],
)
def test_items_that_differ_are_counted_apart(run_model: Run, column: str, value: Any) -> None:
    """Each key divides: two items alike are one row, one that differs in a key is another."""
    items = [SOLD | {"line_no": number, "price": "1.5"} for number in (1, 2)]
    rows = run_model("daily_price_matches", {"mart.price_variances": [*items, SOLD | {"line_no": 3, column: value}]})
    assert sorted((row["item_count"], row["price"]) for row in rows if row["price"]) == [(2, 3)]
    assert [row["item_count"] for row in rows if not row["price"]] == [1]


def test_sums_leave_out_what_is_unknown(run_model: Run) -> None:
    """Known prices and variances are added, of either sign; where none is known there is no sum."""
    items = [
        SOLD
        | {"line_no": 1, "currency": "EUR", "price": "5", "price_variance": "0.5", "delivery_price_variance": "-1"},
        SOLD | {"line_no": 2, "currency": "EUR", "price": "4", "price_variance": "-0.25"},
        SOLD | {"line_no": 3, "currency": "EUR"},
    ]
    (row,) = run_model("daily_price_matches", {"mart.price_variances": items})
    assert (row["item_count"], row["price"], row["currency"]) == (3, 9, "EUR")
    assert (row["price_variance"], row["delivery_price_variance"]) == (Decimal("0.25"), -1)
    (row,) = run_model("daily_price_matches", {"mart.price_variances": items[2:]})
    assert (row["price"], row["price_variance"], row["delivery_price_variance"]) == (None, None, None)


def test_check_finds_items_that_are_not_counted(run_claim: Run) -> None:
    """A line too many, and a ten-thousandth too much, are found."""
    name = "daily_price_matches__count_every_item"
    lines = [{"order_id": 1, "price": 3}, {"order_id": 1, "price": 1}]
    given: dict[str, list[dict[str, Any]]] = {"mart.price_variances": lines}
    assert run_claim(name, given | {"own.daily_price_matches": [{"item_count": 2, "price": 4}]}) == []
    for wrong in ({"item_count": 3, "price": 4}, {"item_count": 2, "price": 4.0001}):
        assert run_claim(name, given | {"own.daily_price_matches": [wrong]}) != []
