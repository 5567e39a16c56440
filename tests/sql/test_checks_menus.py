"""The checks of menus: each with a clean case and a planted fault."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Given, Run


def edge(parent: str, edge_no: int, modifier_id: int | None, price: str | None = None) -> dict[str, Any]:
    """Return a row of core.modifier_edges: `edge("product 5", 1, 7)`."""
    kind, _, number = parent.partition(" ")
    return {
        "menu_id": 10,
        "parent_type": kind,
        "parent_id": int(number),
        "edge_no": edge_no,
        "modifier_id": modifier_id,
        "price": price,
    }


def product(product_id: int, menu_id: int = 10, **more: Any) -> dict[str, Any]:
    """Return a row of core.products."""
    return {"menu_id": menu_id, "product_id": product_id, **more}


def modifier(modifier_id: int, **more: Any) -> dict[str, Any]:
    """Return a row of core.modifiers."""
    return {"menu_id": 10, "modifier_id": modifier_id, **more}


def path(product_id: int, *steps: tuple[int, int], is_cycle: bool = False) -> dict[str, Any]:
    """Return a row of core.modifier_paths from (edge_no, modifier_id) steps."""
    return {
        "menu_id": 10,
        "product_id": product_id,
        "edge_nos": [step[0] for step in steps],
        "modifier_ids": [step[1] for step in steps],
        "modifier_id": steps[-1][1],
        "depth": len(steps),
        "is_cycle": is_cycle,
    }


VALIDATED = {
    "menu_id": 10,
    "validated_price_groups": 1,
    "validated_prices": 2,
    "validated_products": 1,
    "validated_product_references": 1,
    "validated_modifiers": 1,
    "validated_child_references": 0,
    "validated_price_money": "3.5",
    "validated_delivery_price_money": "0",
    "validated_reference_money": "0.25",
}
FLAT: Given = {
    "core.menus": [{"menu_id": 10}],
    "core.price_groups": [{"menu_id": 10, "group_no": 1}],
    "core.menu_prices": [
        {"menu_id": 10, "group_no": 1, "price_no": 1, "price": "3.5"},
        {"menu_id": 10, "group_no": 1, "price_no": 2},
    ],
    "core.products": [product(5)],
    "core.modifiers": [modifier(7)],
    "core.modifier_edges": [edge("product 5", 1, 7, "0.25")],
}


@pytest.mark.duckdb2
@pytest.mark.parametrize(
    ("counted", "place"),
    [
        ("validated_price_groups", "price groups"),
        ("validated_prices", "prices"),
        ("validated_products", "products"),
        ("validated_modifiers", "modifiers"),
        ("validated_product_references", "product references"),
        ("validated_child_references", "child references"),
    ],
)
def test_menu_counts_match_validation(run_check: Run, counted: str, place: str) -> None:
    """A menu with one row fewer than validation counted, of any kind, is found."""
    claim = "core.menus__match_validation"
    assert run_check(claim, FLAT | {"raw.latest_menus": [VALIDATED]}) == []
    found = run_check(claim, FLAT | {"raw.latest_menus": [VALIDATED | {counted: VALIDATED[counted] + 1}]})  # type: ignore[operator]
    assert found == [{"entity_id": 10, "location": place, "residual": None}]


@pytest.mark.parametrize(
    ("added", "place"),
    [
        ("validated_price_money", "price money"),
        ("validated_delivery_price_money", "delivery price money"),
        ("validated_reference_money", "reference money"),
    ],
)
def test_menu_money_matches_validation(run_check: Run, added: str, place: str) -> None:
    """A menu whose prices are a hundredth of a cent less than validation added up is found, with the difference."""
    given = FLAT | {"raw.latest_menus": [VALIDATED | {added: str(Decimal(str(VALIDATED[added])) + Decimal("0.0001"))}]}
    found = run_check("core.menus__match_validation", given)
    assert found == [{"entity_id": 10, "location": place, "residual": Decimal("-0.0001")}]


def test_a_lost_menu_is_found(run_check: Run) -> None:
    """A menu that was accepted and has no row is found once, also when it is empty."""
    empty = dict.fromkeys(VALIDATED, 0) | {"menu_id": 11}
    given = FLAT | {"raw.latest_menus": [VALIDATED, empty]}
    assert run_check("core.menus__match_validation", given) == [{"entity_id": 11, "location": "menu", "residual": None}]


@pytest.mark.duckdb2
def test_price_of_an_unknown_product_is_found(run_check: Run) -> None:
    """A price of a product that only another menu has is found (interface rule 1)."""
    claim = "core.menu_prices__reference_a_product"
    place = {"menu_id": 10, "group_no": 1}
    clean = [place | {"price_no": 1, "product_id": 5}, place | {"price_no": 2, "product_id": None}]
    products = [product(5), product(6, menu_id=11)]
    assert run_check(claim, {"core.menu_prices": clean, "core.products": products}) == []
    planted = [*clean, place | {"price_no": 3, "product_id": 6}]
    assert run_check(claim, {"core.menu_prices": planted, "core.products": products}) == [
        {"entity_id": 10, "location": "group 1, price 3", "detail": "product 6"}
    ]


@pytest.mark.duckdb2
def test_reference_to_an_unknown_modifier_is_found(run_check: Run) -> None:
    """A reference to an unknown modifier is found, below a product and below a modifier (interface rule 2)."""
    claim = "core.modifier_edges__reference_a_modifier"
    clean = [edge("product 5", 1, 7), edge("product 5", 2, None)]
    assert run_check(claim, {"core.modifier_edges": clean, "core.modifiers": [modifier(7)]}) == []
    planted = [*clean, edge("product 5", 3, 8), edge("modifier 7", 1, 9)]
    assert run_check(claim, {"core.modifier_edges": planted, "core.modifiers": [modifier(7)]}) == [
        {"entity_id": 10, "location": "modifier 7, edge 1", "detail": "modifier 9"},
        {"entity_id": 10, "location": "product 5, edge 3", "detail": "modifier 8"},
    ]


def test_duplicate_products_are_found(run_check: Run) -> None:
    """A product that differs from another one in its id alone is found (interface rule 3)."""
    claim = "core.menus__have_no_duplicates"
    edges = [edge("product 5", 1, 7, "1"), edge("product 6", 1, 7, "1"), edge("product 8", 1, 7, "2")]
    clean = [
        product(5, name="Tea"),
        product(7, name="Tea"),
        product(8, name="Tea"),
        product(9, name="Tea", description="hot"),
        product(5, menu_id=11, name="Tea"),
        product(20, name=None),
        product(21, name=None),
        product(22, name=""),
        product(23, name=""),
    ]
    assert run_check(claim, {"core.products": clean, "core.modifier_edges": edges}) == []
    planted = [*clean, product(6, name="Tea")]
    assert run_check(claim, {"core.products": planted, "core.modifier_edges": edges}) == [
        {"entity_id": 10, "location": "product 6", "detail": "identical to product 5"}
    ]


def test_duplicate_modifiers_are_found(run_check: Run) -> None:
    """A modifier with the name and children of another one is found; options that share a name are not (rule 3)."""
    claim = "core.menus__have_no_duplicates"
    edges = [edge("modifier 1", 1, 7), edge("modifier 2", 1, 8), edge("modifier 3", 1, 7)]
    clean = [modifier(1, name="Size"), modifier(2, name="Size"), modifier(7, name="Large"), modifier(8, name="Large")]
    assert run_check(claim, {"core.modifiers": clean, "core.modifier_edges": edges}) == []
    planted = [*clean, modifier(3, name="Size")]
    assert run_check(claim, {"core.modifiers": planted, "core.modifier_edges": edges}) == [
        {"entity_id": 10, "location": "modifier 3", "detail": "identical to modifier 1"}
    ]


def test_product_with_two_names_is_found(run_check: Run) -> None:
    """A product with another name in another menu is found, unless ids are per menu."""
    claim = "core.products__have_one_name_across_menus"
    clean = [product(5, name="Tea"), product(5, menu_id=11, name="Tea"), product(5, menu_id=12, name=None)]
    assert run_check(claim, {"core.products": clean}) == []
    planted = [*clean, product(5, menu_id=13, name="Soup")]
    assert run_check(claim, {"core.products": planted}) == [
        {"entity_id": 13, "location": "product 5", "detail": "has another name in menu 10"}
    ]
    own = [{"menus_product_id_scope": "per_menu"}]
    assert run_check(claim, {"core.products": planted, "raw.settings": own}) == []


def test_repeated_ids(run_check: Run) -> None:
    """Price groups and prices that share an id within a menu are found; nulls and other menus are not."""

    def group(menu_id: int, no: int, group_id: int | None) -> dict[str, Any]:
        return {"menu_id": menu_id, "group_no": no, "price_group_id": group_id}

    claim = "core.price_groups__have_unique_ids"
    clean = [group(10, 1, 7), group(10, 2, None), group(10, 3, None), group(11, 1, 7)]
    assert run_check(claim, {"core.price_groups": clean}) == []
    assert run_check(claim, {"core.price_groups": [*clean, group(10, 4, 7)]}) == [
        {"entity_id": 10, "location": "group 1", "detail": "price group id 7"},
        {"entity_id": 10, "location": "group 4", "detail": "price group id 7"},
    ]

    def price(menu_id: int, group_no: int, price_id: int | None) -> dict[str, Any]:
        return {"menu_id": menu_id, "group_no": group_no, "price_no": 1, "price_id": price_id}

    claim = "core.menu_prices__have_unique_ids"
    prices = [price(10, 1, 7), price(10, 2, None), price(10, 3, None), price(11, 1, 7)]
    assert run_check(claim, {"core.menu_prices": prices}) == []
    assert run_check(claim, {"core.menu_prices": [*prices, price(10, 4, 7)]}) == [
        {"entity_id": 10, "location": "group 1, price 1", "detail": "price id 7"},
        {"entity_id": 10, "location": "group 4, price 1", "detail": "price id 7"},
    ]


def test_groups_out_of_order(run_check: Run) -> None:
    """A group after one of a higher position is found; equal positions and gaps are not."""
    claim = "core.price_groups__are_ordered_by_position"

    def groups(*positions: int | None) -> Given:
        rows = [{"menu_id": 10, "group_no": no, "position": each} for no, each in enumerate(positions, start=1)]
        return {"core.price_groups": rows}

    assert run_check(claim, groups(1, 1, 4, None, 2)) == []
    assert run_check(claim, groups(1, 3, 2)) == [{"entity_id": 10, "location": "group 3", "detail": "position 2"}]


def test_cycles(run_check: Run) -> None:
    """A modifier below itself is found once per product, in however many paths."""
    claim = "core.modifier_edges__have_no_cycles"
    clean = [path(5, (1, 7)), path(5, (1, 7), (1, 8))]
    assert run_check(claim, {"core.modifier_paths": clean}) == []
    planted = [*clean, path(5, (1, 7), (1, 8), (1, 7), is_cycle=True), path(5, (1, 7), (1, 8), (2, 7), is_cycle=True)]
    assert run_check(claim, {"core.modifier_paths": planted}) == [
        {"entity_id": 10, "location": "product 5", "detail": "modifier 7"}
    ]


def test_cut_paths(run_check: Run) -> None:
    """A product with fewer paths than its edges imply is found; the end of a cycle is not cut."""
    claim = "core.modifier_paths__are_complete"
    edges = [edge("product 5", 1, 7), edge("modifier 7", 1, 8), edge("modifier 8", 1, 7), edge("modifier 7", 2, 9)]
    whole = [
        path(5, (1, 7)),
        path(5, (1, 7), (1, 8)),
        path(5, (1, 7), (2, 9)),
        path(5, (1, 7), (1, 8), (1, 7), is_cycle=True),
    ]
    assert run_check(claim, {"core.modifier_edges": edges, "core.modifier_paths": whole}) == []
    cut = [each for each in whole if each["edge_nos"] != [1, 2]]
    assert run_check(claim, {"core.modifier_edges": edges, "core.modifier_paths": cut}) == [
        {"entity_id": 10, "location": "product 5", "detail": "3 paths kept"}
    ]
    assert run_check(claim, {"core.modifier_edges": edges}) == [
        {"entity_id": 10, "location": "product 5", "detail": "0 paths kept"}
    ]


def test_no_menu_at_all(run_check: Run) -> None:
    """Orders without any observed menu are reported once."""
    claim = "core.menus__were_observed"
    assert run_check(claim, {"core.orders": [], "core.menus": []}) == []
    assert run_check(claim, {"core.orders": [{"order_id": 1}], "core.menus": [{"menu_id": 10}]}) == []
    found = run_check(claim, {"core.orders": [{"order_id": 1}, {"order_id": 2}]})
    assert [(row["entity_id"], row["location"]) for row in found] == [(None, "no menu")]
