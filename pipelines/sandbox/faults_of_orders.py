"""The faults of orders, one function each: it changes the document and returns the place.

An order to be spoiled has a modifier on its first line.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pipelines.sandbox import planting
from pipelines.sandbox.planting import Planter, Spoil, drop, put
from pipelines.sandbox.prices import shortest

if TYPE_CHECKING:
    from pipelines.sandbox.rng import Rng

_ITEM = "/items/0"
_MODIFIER = "/items/0/modifiers/0"
# Amounts that are never zero.
_CHARGES = ("/subtotal_price", "/total_price", f"{_ITEM}/price")
_AMOUNTS = (*_CHARGES, "/tip", "/discount", f"{_MODIFIER}/price")
_DIFFERENCES = ("0.01", "-0.01", "0.1", "1", "-2.5", "0.5", "10", "-0.05")
# An id that no menu has.
_NOWHERE = 90_000_000


def _total_off(rng: Rng, order: dict[str, Any]) -> tuple[str, Spoil]:
    difference = Decimal(rng.pick(_DIFFERENCES))
    # As often as not a part was forgotten.
    if order["tip"] and rng.often(0.5):
        difference = -order["tip"]
    return put(order, "/total_price", shortest(order["total_price"] + difference))


def _subtotal_off(rng: Rng, order: dict[str, Any]) -> tuple[str, Spoil]:
    """Change the subtotal, and the total with it: the formula of the total still holds."""
    difference = Decimal(rng.pick(_DIFFERENCES))
    put(order, "/total_price", shortest(order["total_price"] + difference))
    return put(order, "/subtotal_price", shortest(order["subtotal_price"] + difference))


def _product_in_no_menu(rng: Rng, order: dict[str, Any]) -> tuple[str, Spoil]:
    put(order, f"{_ITEM}/name", "Chef's special")
    return put(order, f"{_ITEM}/product_id", _NOWHERE + rng.below(1000))


def _modifier_in_no_dictionary(rng: Rng, order: dict[str, Any]) -> tuple[str, Spoil]:
    put(order, f"{_MODIFIER}/name", "Something extra")
    return put(order, f"{_MODIFIER}/id", _NOWHERE + rng.below(1000))


def _new_value(rng: Rng, order: dict[str, Any]) -> tuple[str, Spoil]:
    places = [
        ("/status", "handed_to_drone"),
        ("/platform", "smart_fridge"),
        ("/dispatch_method", "locker"),
        (f"{_MODIFIER}/action", "swap"),
    ]
    return put(order, *rng.pick(places))


def _new_field(rng: Rng, order: dict[str, Any]) -> tuple[str, Spoil]:
    places: list[tuple[str, Any]] = [
        ("/loyalty_tier", "gold"),
        ("/user_birthday", "1984-02-29"),
        ("/packaging", {"reusable": True, "deposit": Decimal("0.5")}),
        (f"{_ITEM}/allergens", ["nuts", "milk"]),
        (f"{_MODIFIER}/colour", "red"),
    ]
    return put(order, *rng.pick(places))


def _null(rng: Rng, order: dict[str, Any]) -> tuple[str, Spoil]:
    names = (
        "user_phone user_email user_name user_latitude dispatch_note store_id status platform requested_time "
        "created_at subtotal_price delivery_price tip total_price items deliveries"
    )
    inner = [f"{_ITEM}/{name}" for name in ("instructions", "price", "product_id", "quantity", "name", "modifiers")]
    inner += [f"{_MODIFIER}/{name}" for name in ("id", "price", "action", "quantity")]
    return put(order, rng.pick([f"/{name}" for name in names.split()] + inner), None)


def _absent_array(rng: Rng, order: dict[str, Any]) -> tuple[str, Spoil]:
    return drop(order, rng.pick(("/items", "/deliveries", f"{_ITEM}/modifiers")))


def _wrong_type(rng: Rng, order: dict[str, Any]) -> tuple[str, Spoil]:
    places: list[tuple[str, Any]] = [
        ("/total_price", str(order["total_price"])),
        ("/id", str(order["id"])),
        ("/items", {"0": order["items"][0]}),
        ("/store_id", [order["store_id"]]),
        ("/status", 3),
        ("/created_at", "yesterday"),
        ("/user_latitude", "north"),
        (f"{_ITEM}/quantity", "two"),
        (f"{_ITEM}/price", True),
        (f"{_MODIFIER}/quantity", Decimal("1.5")),
    ]
    return put(order, *rng.pick(places))


def _missing_id(_chance: Rng, order: dict[str, Any]) -> tuple[str, Spoil]:
    return drop(order, "/id")


ORDER_PLANTERS: dict[str, Planter] = {
    "total_break": _total_off,
    "subtotal_break": _subtotal_off,
    "product_in_no_menu": _product_in_no_menu,
    "modifier_in_no_dictionary": _modifier_in_no_dictionary,
    "new_value": _new_value,
    "new_field": _new_field,
    "null": _null,
    "absent_array": _absent_array,
    "wrong_type": _wrong_type,
    "missing_id": _missing_id,
    "excess_decimals": lambda rng, order: planting.excess_decimals(rng, order, _CHARGES),
    "nan": lambda rng, order: planting.nan(rng, order, _AMOUNTS),
    "duplicate_key": lambda rng, order: planting.duplicate_key(
        rng, order, ("/tip", "/total_price", f"{_ITEM}/price", f"{_MODIFIER}/price"), Decimal("99.5")
    ),
    "truncated": planting.truncated,
    "invalid_utf8": lambda rng, order: planting.invalid_utf8(
        rng, order, ("/user_name", "/dispatch_note", f"{_ITEM}/name", f"{_ITEM}/instructions")
    ),
}
