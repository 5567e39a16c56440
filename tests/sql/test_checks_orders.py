"""The checks of references from orders, and of repeated ids: each with a clean case and a planted fault."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Given, Run

PER_MENU = [{"menus_product_id_scope": "per_menu"}]
# Store 1 has menu 10, store 2 has menu 11, store 3 names one that was never observed.
MENUS: Given = {
    "core.menus": [{"menu_id": 10}, {"menu_id": 11}],
    "core.store_menus": [
        {"store_id": 1, "menu_id": 10},
        {"store_id": 2, "menu_id": 11},
        {"store_id": 3, "menu_id": 99},
    ],
}


@pytest.mark.duckdb2
def test_known_stores(run_check: Run) -> None:
    """An order of a store without a record is found; one that names no store is not."""
    claim = "core.orders__reference_a_known_store"
    stores = [{"store_id": 1}]
    clean = [{"order_id": 1, "store_id": 1}, {"order_id": 2, "store_id": None}]
    assert run_check(claim, {"core.orders": clean, "core.stores": stores}) == []
    assert run_check(claim, {"core.orders": [*clean, {"order_id": 3, "store_id": 9}], "core.stores": stores}) == [
        {"entity_id": 3, "location": "store_id", "detail": "store 9"}
    ]


def sold(store_id: int | None, *product_ids: int | None) -> Given:
    """Return an order of a store with a line per product."""
    return {
        "core.orders": [{"order_id": 7, "store_id": store_id}],
        "core.order_lines": [
            {"order_id": 7, "line_no": no, "product_id": each} for no, each in enumerate(product_ids, start=1)
        ],
    }


PRODUCTS: Given = MENUS | {
    "core.products": [
        {"menu_id": 10, "product_id": 5},
        {"menu_id": 11, "product_id": 5},
        {"menu_id": 11, "product_id": 6},
    ]
}


@pytest.mark.duckdb2
def test_known_products(run_check: Run) -> None:
    """Ids global: a product on any menu is known, also of another store; a null refers to nothing."""
    claim = "core.order_lines__reference_a_known_product"
    assert run_check(claim, PRODUCTS | sold(1, 5, 6, None)) == []
    assert run_check(claim, PRODUCTS | sold(None, 6)) == []
    assert run_check(claim, PRODUCTS | sold(1, 5, 8)) == [{"entity_id": 7, "location": "line 2", "detail": "product 8"}]
    assert [row["location"] for row in run_check(claim, PRODUCTS | sold(None, 8))] == ["line 1"]


def test_known_products_per_menu(run_check: Run) -> None:
    """Ids per menu: only the store's own menus count; where none is known, there is nothing to compare with."""
    claim = "core.order_lines__reference_a_known_product"
    given = PRODUCTS | {"raw.settings": PER_MENU}
    assert run_check(claim, given | sold(2, 5, 6)) == []
    assert run_check(claim, given | sold(1, 5, 6)) == [{"entity_id": 7, "location": "line 2", "detail": "product 6"}]
    for store_without_known_menu in (3, 4, None):
        assert run_check(claim, given | sold(store_without_known_menu, 8)) == []


def test_no_menu_to_compare_with(run_check: Run) -> None:
    """Without any menu no line is listed: another check reports that once."""
    assert run_check("core.order_lines__reference_a_known_product", sold(1, 5)) == []


def test_no_menu_of_the_store_to_compare_with(run_check: Run) -> None:
    """Lines of a store without an observed menu are not listed, though other menus are known."""
    claim = "core.order_lines__reference_a_known_product"
    given = PRODUCTS | {"core.stores": [{"store_id": 1}, {"store_id": 3}]}
    assert run_check(claim, given | sold(3, 8)) == []
    assert [row["detail"] for row in run_check(claim, given | sold(1, 8))] == ["product 8"]


@pytest.mark.parametrize(("mode", "known"), [("global", [5, 6]), ("per_menu", [5])])
def test_known_modifiers(run_check: Run, mode: str, known: list[int]) -> None:
    """Modifiers, like products, are looked up on any menu, or on the store's own."""
    claim = "core.order_line_modifiers__reference_a_known_modifier"
    modifiers = [{"menu_id": 10, "modifier_id": 5}, {"menu_id": 11, "modifier_id": 6}]
    sold_modifiers = [
        {"order_id": 7, "line_no": 2, "modifier_no": no, "modifier_id": each}
        for no, each in enumerate((5, 6, None, 8), start=1)
    ]
    given = MENUS | {
        "raw.settings": [{"menus_product_id_scope": mode}],
        "core.orders": [{"order_id": 7, "store_id": 1}],
        "core.modifiers": modifiers,
        "core.order_line_modifiers": sold_modifiers,
    }
    expected = [
        {
            "entity_id": 7,
            "location": f"line 2, modifier {each['modifier_no']}",
            "detail": f"modifier {each['modifier_id']}",
        }
        for each in sold_modifiers
        if each["modifier_id"] is not None and each["modifier_id"] not in known
    ]
    assert run_check(claim, given) == expected
    assert expected


@pytest.mark.duckdb2
@pytest.mark.parametrize(
    ("claim", "noun"),
    [
        ("core.order_lines__have_unique_ids", "line"),
        ("core.order_deliveries__have_unique_ids", "delivery"),
    ],
)
def test_repeated_ids(run_check: Run, claim: str, noun: str) -> None:
    """Lines or deliveries of one order with one id are found, each in its place; nulls and other orders are not."""

    def row(order_id: int, no: int, id_: int | None) -> dict[str, Any]:
        return {"order_id": order_id, f"{noun}_no": no, f"{noun}_id": id_}

    table = claim.partition("__")[0]
    clean = [row(1, 1, 7), row(1, 2, 8), row(1, 3, None), row(1, 4, None), row(2, 1, 7)]
    assert run_check(claim, {table: clean}) == []
    assert run_check(claim, {table: [*clean, row(1, 5, 7)]}) == [
        {"entity_id": 1, "location": f"{noun} 1", "detail": f"{noun} id 7"},
        {"entity_id": 1, "location": f"{noun} 5", "detail": f"{noun} id 7"},
    ]


def test_total_break_is_found(run_check: Run) -> None:
    """A total with a residual of a hundredth of a cent is found; an indeterminate one is not."""
    claim = "mart.order_reconciliation__total_follows_the_rule"
    clean = [{"order_id": 1, "total_residual": "0"}, {"order_id": 2}]
    assert run_check(claim, {"mart.order_reconciliation": clean}) == []
    planted = {"order_id": 3, "total_residual": "-0.0001", "total_likely_cause": "rounding"}
    assert run_check(claim, {"mart.order_reconciliation": [*clean, planted]}) == [
        {"entity_id": 3, "location": "total_price", "residual": Decimal("-0.0001"), "detail": "rounding"}
    ]


VALIDATED = {
    "order_id": 1,
    "validated_lines": 2,
    "validated_modifiers": 1,
    "validated_deliveries": 1,
    "validated_order_money": "12.5",
    "validated_line_money": "10",
    "validated_modifier_money": "0",
}


@pytest.mark.duckdb2
@pytest.mark.parametrize(
    ("counted", "place", "residual"),
    [
        ("validated_lines", "lines", None),
        ("validated_modifiers", "modifiers", None),
        ("validated_deliveries", "deliveries", None),
        ("validated_order_money", "order money", Decimal("-0.0001")),
        ("validated_line_money", "line money", Decimal("-0.0001")),
        ("validated_modifier_money", "modifier money", Decimal("-0.0001")),
    ],
)
def test_order_counts_match_validation(run_check: Run, counted: str, place: str, residual: Decimal | None) -> None:
    """An order with a row, or a hundredth of a cent, fewer than validation counted is found."""
    claim = "core.orders__match_validation"
    flat: Given = {
        "core.orders": [{"order_id": 1, "subtotal_price": "10", "tip": "2.5", "total_price": None}],
        "core.order_lines": [{"order_id": 1, "line_no": 1, "price": "10"}, {"order_id": 1, "line_no": 2}],
        "core.order_line_modifiers": [{"order_id": 1, "line_no": 1, "modifier_no": 1}],
        "core.order_deliveries": [{"order_id": 1, "delivery_no": 1}],
    }
    assert run_check(claim, flat | {"raw.latest_orders": [VALIDATED]}) == []
    more = str(Decimal(str(VALIDATED[counted])) + (1 if residual is None else Decimal("0.0001")))
    (found,) = run_check(claim, flat | {"raw.latest_orders": [VALIDATED | {counted: more}]})
    assert (found["entity_id"], found["location"], found["residual"]) == (1, place, residual)


def test_a_lost_order_is_found(run_check: Run) -> None:
    """An order that was accepted and has no row is found."""
    (found,) = run_check("core.orders__match_validation", {"raw.latest_orders": [VALIDATED]})
    assert (found["entity_id"], found["location"]) == (1, "order")


def test_formula_rules_hold_what_settings_name(run_check: Run) -> None:
    """A rule of the settings that the catalogue lacks is found; one that it has is not."""
    claim = "audit.formula_rules__include_configured_rules"
    rules = [{"rule_target": "total", "rule": "observed/unrounded"}]
    clean = [{"setting_no": 1, "rule_target": "total", "rule": "observed/unrounded"}]
    assert run_check(claim, {"audit.formula_rules": rules, "raw.formula_settings": clean}) == []
    planted = {"setting_no": 2, "rule_target": "subtotal", "rule": "a guess"}
    assert run_check(claim, {"audit.formula_rules": rules, "raw.formula_settings": [*clean, planted]}) == [
        {"entity_id": None, "location": "the subtotal rule of [formula] no. 2", "residual": None, "detail": "a guess"}
    ]


def test_formula_populations_support_settings(run_check: Run) -> None:
    """A configured rule that its orders refute is found; one that they support is not."""
    claim = "audit.formula_populations__support_settings"
    clean = {
        "rule_target": "total",
        "population_no": -1,
        "rule_setting_no": 1,
        "verdict": "supported",
        "sentence": "so",
    }
    assert run_check(claim, {"audit.formula_populations": [clean]}) == []
    (found,) = run_check(claim, {"audit.formula_populations": [clean | {"verdict": "none"}]})
    assert (found["location"], found["detail"]) == ("total, [[formula.rule]] no. 1", "so")


def test_impossible_times_are_found(run_check: Run) -> None:
    """An order whose times do not count is found once, with each as it was sent, by the first one's field."""
    odd = ["created_at: 0001-01-01T00:00:00Z", "requested_time: 9999-12-31T00:00:00Z"]
    orders = [{"order_id": 1, "impossible_times": odd}, {"order_id": 2}]
    found = run_check("core.orders__have_possible_times", {"core.orders": orders})
    assert [(row["entity_id"], row["location"], row["detail"]) for row in found] == [(1, "created_at", "; ".join(odd))]


CREATED = ("created_at", "2026-10-03 12:00:00+00", "2026-10-20 15:00:00+00")
STORE = ("store_id", "1", "2")
PHONE, EMAIL = ("user_phone", None, None), ("user_email", None, None)


@pytest.mark.parametrize(
    ("changes", "is_found"),
    [
        ((CREATED, STORE, PHONE, EMAIL), True),
        ((CREATED, STORE), True),
        ((CREATED, PHONE), True),
        ((CREATED, EMAIL), True),
        ((CREATED,), False),
        ((STORE, PHONE, EMAIL), False),
        ((("created_at", None, CREATED[2]), STORE), False),
        ((("created_at", CREATED[1], None), STORE), False),
        ((CREATED, ("user_name", None, None)), False),
        ((("status", "a", "b"), PHONE), False),
    ],
)
def test_an_id_that_comes_back_for_another_order(run_check: Run, changes: tuple[Any, ...], is_found: bool) -> None:
    """An order keeps its creation time: with another one, and another store or customer, it is another order."""
    rows = [
        {"order_id": 3, "version_no": 2, "field": field, "old_value": old, "new_value": new}
        for field, old, new in changes
    ]
    found = run_check("core.order_changes__are_of_one_order", {"core.order_changes": rows})
    assert [(row["entity_id"], row["location"]) for row in found] == [(3, "version 2")] * is_found
    decided = {"core.order_changes": rows, "raw.settings": [{"replaced_orders": [3]}]}
    assert run_check("core.order_changes__are_of_one_order", decided) == []
