"""The faults of menus, one function each: it changes the document and returns the place."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pipelines.sandbox import planting
from pipelines.sandbox.planting import Planter, Spoil, drop, put

if TYPE_CHECKING:
    from pipelines.sandbox.rng import Rng

_PRICE = "/menu/price_groups/0/prices/0"
_AMOUNTS = (f"{_PRICE}/price", f"{_PRICE}/delivery_price")
_NOWHERE = 90_000_000


def _product(rng: Rng, menu: dict[str, Any]) -> str:
    """Return the pointer of a product that opens choices."""
    rich = [key for key, product in menu["products"].items() if product["modifiers"]]
    return f"/products/{rng.pick(rich)}"


def _group(rng: Rng, menu: dict[str, Any]) -> str:
    """Return the pointer of a modifier that a product opens: a group with options."""
    first = menu["products"][_product(rng, menu).rpartition("/")[2]]["modifiers"]
    return f"/modifiers/{rng.pick(first)['modifier_id']}"


def _dangling_reference(rng: Rng, menu: dict[str, Any]) -> tuple[str, Spoil]:
    places = (
        f"{_PRICE}/product_id",
        f"{_product(rng, menu)}/modifiers/0/modifier_id",
        f"{_group(rng, menu)}/children/0/modifier_id",
    )
    return put(menu, rng.pick(places), _NOWHERE + rng.below(1000))


def _modifier_cycle(rng: Rng, menu: dict[str, Any]) -> tuple[str, Spoil]:
    """Let an option of a group open that group again, or a group hold itself."""
    group = _group(rng, menu)
    group_id = int(group.rpartition("/")[2])
    options = menu["modifiers"][str(group_id)]["children"]
    holder = group_id if rng.often(0.25) else rng.pick(options)["modifier_id"]
    children = menu["modifiers"][str(holder)]["children"]
    children.append({"modifier_id": group_id, "position": len(children) + 1, "price": Decimal(0)})
    return f"/modifiers/{holder}/children/{len(children) - 1}", planting.leave


def _new_value(rng: Rng, menu: dict[str, Any]) -> tuple[str, Spoil]:
    places = [(f"{_PRICE}/channel", "voice"), (f"{_product(rng, menu)}/dispatch_method", "locker")]
    return put(menu, *rng.pick(places))


def _new_field(rng: Rng, menu: dict[str, Any]) -> tuple[str, Spoil]:
    places: list[tuple[str, Any]] = [
        ("/menu/season", "autumn"),
        ("/published_by", {"name": "Alex Roe", "email": "alex.roe@example.com"}),
        (f"{_PRICE}/tax_rate", Decimal("0.07")),
        (f"{_product(rng, menu)}/calories", 520),
    ]
    return put(menu, *rng.pick(places))


def _null(rng: Rng, menu: dict[str, Any]) -> tuple[str, Spoil]:
    places = (
        "/menu/name",
        "/menu/price_groups/0/position",
        f"{_PRICE}/delivery_price",
        f"{_PRICE}/price_id",
        f"{_product(rng, menu)}/description",
        f"{_product(rng, menu)}/modifiers",
        f"{_group(rng, menu)}/children",
    )
    return put(menu, rng.pick(places), None)


def _absent_array(rng: Rng, menu: dict[str, Any]) -> tuple[str, Spoil]:
    places = (
        "/menu/price_groups/1/prices",
        f"{_product(rng, menu)}/modifiers",
        f"{_group(rng, menu)}/children",
    )
    return drop(menu, rng.pick(places))


def _wrong_type(rng: Rng, menu: dict[str, Any]) -> tuple[str, Spoil]:
    places: list[tuple[str, Any]] = [
        (f"{_PRICE}/price", "8,50"),
        (f"{_PRICE}/position", "first"),
        ("/products", list(menu["products"].values())),
        ("/menu/id", f"m{menu['menu']['id']}"),
        (f"{_product(rng, menu)}/name", 5),
        (f"{_group(rng, menu)}/children", "none"),
    ]
    return put(menu, *rng.pick(places))


def _missing_id(rng: Rng, menu: dict[str, Any]) -> tuple[str, Spoil]:
    places = ("/menu/id", "/menu/id", f"{_PRICE}/product_id", f"{_group(rng, menu)}/children/0/modifier_id")
    return drop(menu, rng.pick(places))


def _duplicate_key(rng: Rng, menu: dict[str, Any]) -> tuple[str, Spoil]:
    product = _product(rng, menu)
    other = {"name": "Another", "description": "", "dispatch_method": "both", "modifiers": []}
    return planting.duplicate_key(rng, menu, (product,), other)


MENU_PLANTERS: dict[str, Planter] = {
    "dangling_reference": _dangling_reference,
    "modifier_cycle": _modifier_cycle,
    "new_value": _new_value,
    "new_field": _new_field,
    "null": _null,
    "absent_array": _absent_array,
    "wrong_type": _wrong_type,
    "missing_id": _missing_id,
    "excess_decimals": lambda rng, menu: planting.excess_decimals(rng, menu, _AMOUNTS),
    "nan": lambda rng, menu: planting.nan(rng, menu, _AMOUNTS),
    "duplicate_key": _duplicate_key,
    "truncated": planting.truncated,
    "invalid_utf8": lambda rng, menu: planting.invalid_utf8(rng, menu, ("/menu/name", f"{_product(rng, menu)}/name")),
}
