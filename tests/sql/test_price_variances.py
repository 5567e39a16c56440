"""mart.price_variances: prices beside the menus observed at the time."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.sql.conftest import Given, Run


def at(day: int) -> str:
    """Return noon of a day in October."""
    return f"2026-10-{day:02d}T12:00:00Z"


def scope(menus: tuple[int, ...]) -> dict[str, Any]:
    """Return where the offers of a store with these menus are."""
    return {"are_several": len(menus) > 1, "menu_scope_id": 9 if len(menus) > 1 else menus[0]}


def offered(
    run_table: Run, stores: list[dict[str, Any]], menus: tuple[int, ...], *offers: dict[str, Any]
) -> dict[str, list[dict[str, Any]]]:
    """Return the offers of menus and of the store's set of menus."""
    offer = {"menu_id": 1, "product_id": 5, "menu_entry_count": 1, "delivery_prices": []}
    given = {"workings.menu_offers": [offer | each for each in offers]}
    held = {
        "workings.stores_with_menus": stores,
        "core.store_menus": [{"store_id": 9, "menu_id": each} for each in menus],
    }
    return given | {"workings.menu_set_offers": run_table("workings.menu_set_offers", given | held)}


def variances(
    run_table: Run,
    price: str | None,
    *offers: dict[str, Any],
    day: int = 6,
    menus: tuple[int, ...] = (1, 2),
    known: Sequence[dict[str, Any]] = ({"known_from": at(3), "are_all_known": True},),
    **line: Any,
) -> dict[str, Any]:
    """Return the row of a line of product 5, ordered on a day from a store whose menus are known since the 3rd."""
    stores = [{"store_id": 9, "are_first_seen_later": False} | scope(menus) | each for each in known]
    (row,) = run_table(
        "mart.price_variances",
        {
            "mart.orders": [
                {
                    "order_id": 1,
                    "store_id": 9,
                    "created_at": at(day),
                    "sale_class": "counted",
                    "dispatch_method": "pick_up",
                }
            ],
            "core.order_lines": [{"order_id": 1, "line_no": 1, "product_id": 5, "price": price} | line],
            "workings.stores_with_menus": stores,
            **offered(run_table, stores, menus, *offers),
        },
    )
    return row


OFFER = {"prices": ["3"], "delivery_prices": ["3.5"], "offered_from": at(3), "seen_at": at(2)}


@pytest.mark.duckdb2
@pytest.mark.parametrize("menus", [(1,), (1, 2)])
@pytest.mark.parametrize(
    ("price", "match"),
    [("3", "price"), ("3.5", "delivery_price"), ("3.0001", "neither"), (None, "indeterminate")],
)
def test_which_price_matches(run_table: Run, price: str | None, match: str, menus: tuple[int, ...]) -> None:
    """The price sold is that of the menu, that for delivery, or neither, and then by how much is shown."""
    row = variances(run_table, price, OFFER, menus=menus)
    assert (row["menu_match"], row["price_match"], row["menu_entry_count"]) == ("unique", match, 1)
    assert (row["menu_price"], row["menu_delivery_price"]) == (3, Decimal("3.5"))
    if price:
        assert row["price_variance"] == Decimal(price) - 3
        assert row["delivery_price_variance"] == Decimal(price) - Decimal("3.5")


def test_the_menu_that_a_price_is_compared_with(run_table: Run) -> None:
    """One menu that offered it then is named, and when it was seen to do so; of several none is."""
    second = OFFER | {"menu_id": 2}
    for offers, menus, expected in (
        ([OFFER], (1,), 1),
        ([OFFER], (1, 2), 1),
        ([OFFER, second | {"offered_until": at(6)}], (1, 2), 1),
        ([OFFER, second], (1, 2), None),
        ([], (1,), None),
    ):
        row = variances(run_table, "3", *offers, menus=menus)
        assert (row["menu_id"], row["menu_seen_at"] and row["menu_seen_at"].day) == (expected, expected and 2)


@pytest.mark.parametrize("menus", [(1,), (1, 2)])
def test_the_menu_of_then(run_table: Run, menus: tuple[int, ...]) -> None:
    """The price that was observed when the order was created counts, not the one of later."""
    old, new = OFFER | {"offered_until": at(7)}, OFFER | {"prices": ["9"], "offered_from": at(7)}
    assert variances(run_table, "3", old, new, menus=menus)["price_match"] == "price"
    assert variances(run_table, "3", old, new, menus=menus, day=7)["price_match"] == "neither"
    assert variances(run_table, "3", old, new, menus=menus, day=8)["price_match"] == "neither"


def test_menus_of_a_store_change_at_different_times(run_table: Run) -> None:
    """What several menus ask together is what each of them asked when the order was created."""
    offers = [
        OFFER | {"offered_until": at(7)},
        OFFER | {"prices": ["9"], "offered_from": at(7), "offered_until": at(9)},
        OFFER | {"menu_id": 2, "prices": ["4"], "menu_entry_count": 2, "offered_from": at(5), "offered_until": at(8)},
        OFFER | {"menu_id": 3, "prices": ["5"]},
    ]
    found = []
    for day in range(4, 10):
        row = variances(run_table, "4", *offers, day=day)
        found.append((row["menu_entry_count"], row["menu_price"], row["price_match"]))
    assert found == [
        (1, 3, "neither"),
        (3, None, "price"),
        (3, None, "price"),
        (3, None, "price"),
        (1, 9, "neither"),
        (0, None, "indeterminate"),
    ]


@pytest.mark.parametrize("menus", [(1,), (1, 2)])
def test_a_menu_not_seen_at_all_is_unknown(run_table: Run, menus: tuple[int, ...]) -> None:
    """Where no menu of the store was observed nothing is compared, and that is said."""
    row = variances(run_table, "3", OFFER | {"offered_from": None}, day=2, menus=menus)
    assert (row["menu_match"], row["price_match"], row["menu_price"]) == ("menu_unknown", "indeterminate", None)


@pytest.mark.parametrize("menus", [(1,), (1, 2)])
def test_the_menus_first_seen_later(run_table: Run, menus: tuple[int, ...]) -> None:
    """An order from before any menu is compared with each as first seen, and marked; later ones with those then."""
    offers = [
        later(1, {"price": "3", "delivery_price": "3.5", "observed_from": at(3), "change_seen_at": at(7)}),
        later(1, {"price": "9", "delivery_price": None, "observed_from": at(7), "is_current": True}),
        later(1, {"product_id": 6, "price": "8", "observed_from": at(7), "is_current": True}),
        later(2, {"price": "4", "delivery_price": None, "observed_from": at(5), "is_current": True}),
    ]
    held = [{"store_id": 9, "menu_id": menu} for menu in menus]
    seen: Given = {"core.menu_price_versions": offers}
    named: Given = {"core.store_menus": held}
    stores = {"workings.stores_with_menus": run_table("workings.stores_with_menus", seen | named)}
    given: Given = stores | {"workings.menu_offers": run_table("workings.menu_offers", seen)}
    given["workings.first_menu_offers"] = run_table("workings.first_menu_offers", given | named | seen)
    given["workings.menu_set_offers"] = run_table(
        "workings.menu_set_offers", stores | named | {"workings.menu_offers": given["workings.menu_offers"]}
    )
    days, several = (1, 3, 4, 5, 7), len(menus) > 1
    orders = [{"order_id": day, "store_id": 9, "created_at": at(day), "sale_class": "counted"} for day in days]
    lines = [
        {"order_id": day, "line_no": line_no, "product_id": product, "price": price}
        for day in days
        for line_no, product, price in ((1, 5, "3"), (2, 6, "8"), (3, None, "1"))
    ]
    rows = run_table("mart.price_variances", given | {"mart.orders": orders, "core.order_lines": lines})
    found = {(row["order_id"], row["line_no"]): (row["menu_match"], row["price_match"]) for row in rows}
    assert len(rows) == len(found) == 15
    both = "ambiguous" if several else "unique"
    assert [found[day, 1] for day in days] == [
        ("first_seen_later", "price"),
        ("unique", "price"),
        ("unique", "price"),
        (both, "price"),
        (both, "neither"),
    ]
    # only seen to be offered from the 7th on: what a menu had before it was seen is unknown
    unknown = "menu_unknown" if several else "none"
    assert [found[day, 2][0] for day in days] == ["menu_unknown", unknown, unknown, "none", "unique"]
    assert {found[day, 3] for day in days} == {("none", "indeterminate")}
    first = next(row for row in rows if (row["order_id"], row["line_no"]) == (1, 1))
    assert (first["menu_entry_count"], first["menu_id"]) == ((2, None) if several else (1, 1))


def later(menu: int, price: dict[str, Any]) -> dict[str, Any]:
    """Return a price of product 5 on a menu."""
    place = {"menu_id": menu, "group_no": 1, "price_no": 1, "product_id": 5}
    return place | {"is_current": False} | price


@pytest.mark.parametrize("until", [None, 7])
def test_what_may_stand_on_a_menu_not_seen_yet_is_unknown(run_table: Run, until: int | None) -> None:
    """What no known menu has is unknown while another menu of the store is; what names nothing stands on none."""
    known = [{"known_from": at(3), "known_until": until and at(until), "are_all_known": False}]
    if until:
        known.append({"known_from": at(until), "are_all_known": True})

    def match(**line: Any) -> tuple[str, str]:
        row = variances(run_table, "3", OFFER, known=known, **line)
        return row["menu_match"], row["price_match"]

    assert match() == ("unique", "price")
    assert match(product_id=6) == ("menu_unknown", "indeterminate")
    assert match(product_id=6, day=7)[0] == ("none" if until else "menu_unknown")
    assert match(product_id=None) == ("none", "indeterminate")


def test_several_places_and_none(run_table: Run) -> None:
    """In several places a match is ambiguous, and a drift only shown where they agree; a stranger matches none."""
    row = variances(run_table, "4", OFFER, OFFER | {"menu_id": 2, "prices": ["4"]})
    assert (row["menu_match"], row["menu_entry_count"], row["price_match"]) == ("ambiguous", 2, "price")
    assert (row["menu_price"], row["menu_delivery_price"]) == (None, Decimal("3.5"))
    row = variances(run_table, "4", OFFER | {"prices": ["3", "4"], "menu_entry_count": 2})
    assert (row["menu_match"], row["price_match"], row["price_variance"]) == ("ambiguous", "price", None)
    row = variances(run_table, "3", OFFER, product_id=6)
    assert (row["menu_match"], row["price_match"], row["menu_entry_count"]) == ("none", "indeterminate", 0)


@pytest.mark.parametrize("menus", [(1,), (1, 2)])
def test_modifiers_have_rows_of_their_own(run_table: Run, menus: tuple[int, ...]) -> None:
    """A modifier is compared below the product of its line; one without an id matches nothing."""
    modifier = {"order_id": 1, "line_no": 1, "product_id": 5}
    stores = [{"store_id": 9, "are_first_seen_later": False, "are_all_known": True} | scope(menus)]
    below = {"modifier_id": 7, "prices": ["1"]}
    rows = run_table(
        "mart.price_variances",
        {
            "mart.orders": [{"order_id": 1, "store_id": 9, "created_at": at(6), "sale_class": "counted"}],
            "core.order_lines": [{"order_id": 1, "line_no": 1, "product_id": 5, "price": "3"}],
            "core.order_line_modifiers": [
                modifier | {"modifier_no": 1, "modifier_id": 7, "price": "1"},
                modifier | {"modifier_no": 2, "modifier_id": None, "price": "3"},
            ],
            "workings.stores_with_menus": stores,
            **offered(run_table, stores, menus, OFFER, below),
        },
    )
    assert [(row["modifier_no"], row["menu_match"], row["price_match"]) for row in rows] == [
        (1, "unique", "price"),
        (2, "none", "indeterminate"),
        (None, "unique", "price"),
    ]
