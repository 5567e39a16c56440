"""workings.menu_offers: what a menu was seen to ask, by product, modifier and interval."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run

MOST = "99999999999999.9999"


def at(day: int) -> str:
    """Return noon of a day in October."""
    return f"2026-10-{day:02d}T12:00:00Z"


def seen(price: str | None, since: int | None, until: int | None = None, **others: Any) -> dict[str, Any]:
    """Return an interval of a price of product 5 in menu 1."""
    return {
        "menu_id": 1,
        "product_id": 5,
        "price": price,
        "observed_from": since and at(since),
        "change_seen_at": until and at(until),
        "is_current": until is None,
        **others,
    }


@pytest.mark.duckdb2
def test_offers_are_intervals(run_table: Run) -> None:
    """Each change of a price begins an interval; two places at once are counted, and their prices listed."""
    rows = run_table(
        "workings.menu_offers",
        {"core.menu_price_versions": [seen("3", None, 10), seen(MOST, 10), seen("4", 5, delivery_price="4.5")]},
    )
    fifth, tenth = (dt.datetime(2026, 10, day, 12, tzinfo=dt.UTC) for day in (5, 10))
    found = {row["offered_from"]: row for row in rows}
    assert found.keys() == {None, fifth, tenth}
    assert [found[each]["offered_until"] for each in (None, fifth, tenth)] == [fifth, tenth, None]
    assert [found[each]["menu_entry_count"] for each in (None, fifth, tenth)] == [1, 2, 2]
    assert [found[each]["prices"] for each in (None, fifth, tenth)] == [[3], [3, 4], [4, Decimal(MOST)]]
    assert found[tenth]["delivery_prices"] == [Decimal("4.5")]
    assert [found[each]["seen_at"] for each in (None, fifth, tenth)] == [None, fifth, tenth]


def test_modifiers_are_offered_below_a_product(run_table: Run) -> None:
    """A modifier of the product, and one below that modifier, are offered with the prices of their places."""
    edge = {"menu_id": 1, "modifier_id": 7, "observed_from": at(1), "is_current": True}
    rows = run_table(
        "workings.menu_offers",
        {
            "core.modifier_price_versions": [
                edge | {"parent_type": "product", "parent_id": 5, "price": "1"},
                edge | {"parent_type": "modifier", "parent_id": 7, "modifier_id": 8, "price": "2"},
                edge | {"parent_type": "modifier", "parent_id": 99, "modifier_id": 8, "price": "3"},
            ],
            "core.modifier_paths": [{"menu_id": 1, "product_id": 5, "modifier_id": 7, "is_cycle": False}],
        },
    )
    assert [(row["product_id"], row["modifier_id"], row["prices"]) for row in rows] == [(5, 7, [1]), (5, 8, [2])]


def test_each_path_to_a_modifier_is_a_place(run_table: Run) -> None:
    """Below a modifier that a product has twice another stands twice, at one price; a path that is a cycle is none."""
    edge = {"menu_id": 1, "modifier_id": 7, "observed_from": at(1), "is_current": True}
    path = {"menu_id": 1, "product_id": 5, "modifier_id": 7, "is_cycle": False}
    rows = run_table(
        "workings.menu_offers",
        {
            "core.modifier_price_versions": [
                edge | {"parent_type": "product", "parent_id": 5, "price": "1"},
                edge | {"parent_type": "product", "parent_id": 5, "price": "1"},
                edge | {"parent_type": "modifier", "parent_id": 7, "modifier_id": 8, "price": "2"},
            ],
            "core.modifier_paths": [path, path, path | {"is_cycle": True}],
        },
    )
    assert [(row["modifier_id"], row["menu_entry_count"], row["prices"]) for row in rows] == [(7, 2, [1]), (8, 2, [2])]


def test_interval_ends_where_the_next_begins(run_table: Run) -> None:
    """What was replaced and came back later leaves a gap; an offer neither current nor seen replaced is none."""
    rows = run_table("workings.menu_offers", {"core.menu_price_versions": [seen("3", 1, 4), seen("3", 8)]})
    first, fourth, eighth = (dt.datetime(2026, 10, day, 12, tzinfo=dt.UTC) for day in (1, 4, 8))
    assert [(row["offered_from"], row["offered_until"]) for row in rows] == [(first, fourth), (eighth, None)]
    before_all = seen("3", None) | {"is_current": False}
    assert run_table("workings.menu_offers", {"core.menu_price_versions": [before_all]}) == []


def test_prices_not_stated_are_left_out(run_table: Run) -> None:
    """An entry without a price is counted, and adds no price; equal prices of two entries are one, in order."""
    versions = [seen(None, 1), seen("5", 1), seen("5.0", 1), seen("4", 1, delivery_price="6")]
    (row,) = run_table("workings.menu_offers", {"core.menu_price_versions": versions})
    assert (row["menu_entry_count"], row["prices"], row["delivery_prices"]) == (4, [4, 5], [6])


def test_entry_that_names_nothing_is_left_out(run_table: Run) -> None:
    """An entry without a product, and a place without a modifier, offer nothing."""
    edge = {"menu_id": 1, "parent_type": "product", "parent_id": 5, "price": "1", "is_current": True}
    rows = run_table(
        "workings.menu_offers",
        {
            "core.menu_price_versions": [seen("3", 1, product_id=None)],
            "core.modifier_price_versions": [edge | {"modifier_id": None, "observed_from": at(1)}],
        },
    )
    assert rows == []


def test_menus_and_products_are_kept_apart(run_table: Run) -> None:
    """Each menu asks its own price of each product, and of a modifier below that product in that menu."""
    edge = {"menu_id": 2, "parent_type": "modifier", "parent_id": 7, "modifier_id": 8, "is_current": True}
    rows = run_table(
        "workings.menu_offers",
        {
            "core.menu_price_versions": [seen("3", 1), seen("4", 1, menu_id=2), seen("5", 1, product_id=6)],
            "core.modifier_price_versions": [edge | {"observed_from": at(1), "price": "2"}],
            "core.modifier_paths": [
                {"menu_id": 1, "product_id": 5, "modifier_id": 7, "is_cycle": False},
                {"menu_id": 2, "product_id": 6, "modifier_id": 7, "is_cycle": False},
            ],
        },
    )
    assert [(row["menu_id"], row["product_id"], row["modifier_id"], row["prices"]) for row in rows] == [
        (1, 5, None, [3]),
        (1, 6, None, [5]),
        (2, 5, None, [4]),
        (2, 6, 8, [2]),
    ]
