"""Plan and plant faults in documents, and say where: the truth that a pipeline's findings are held against.

A document has one fault or none. An order to be spoiled has a modifier on its first line.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec

from pipelines.sandbox.rng import Rng
from pipelines.sandbox.stores import shortest

# A change to a document's bytes after it was encoded.
Spoil = Callable[[bytes], bytes]
# Changes a document; returns the JSON pointer of the fault, and the change to the bytes.
Planter = Callable[[Rng, dict[str, Any]], tuple[str, Spoil]]
# Pointers in a document, of which one is picked, and what changes the document there; or with what comes there.
Pointers = Callable[[Rng, dict[str, Any]], "Sequence[str]"]
Change = Callable[[Rng, dict[str, Any], str], tuple[str, Spoil]]
Values = Callable[[Rng, dict[str, Any]], "Sequence[tuple[str, Any]]"]

_NOWHERE = 90_000_000  # an id that no menu has
# A key, and a character of a text, that no document has: they stand where bytes are changed afterwards.
_TWICE = "_twice"
_MARK = "\ue000"
_NOT_UTF8 = (b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xe2\x82")


@dataclass(frozen=True, slots=True)
class Fault:
    """A planted fault: kind and id of the document, the fault's kind, and the JSON pointer of its place."""

    kind: str
    id: int
    fault: str
    pointer: str


def plan_faults(seed: int, kind: str, ids: Sequence[int], share: float) -> dict[int, str]:
    """Return which of the documents get which fault: this share of them, but one at least unless it is 0.

    The kinds of faults take turns, so that each one is there as soon as there are as many faults as kinds.
    """
    if not share or not ids:
        return {}
    rng = Rng(seed, "faults", kind)
    count = max(1, int(share * len(ids) + 0.5))
    turns = itertools.cycle(rng.shuffled(list(PLANTERS[kind])))
    return dict(zip(rng.shuffled(ids)[:count], turns, strict=False))


def plant(seed: int, kind: str, document_id: int, fault: str, document: dict[str, Any]) -> tuple[Fault, Spoil]:
    """Change the document, always at the same place; return its fault and the change still due to its bytes."""
    pointer, spoil = PLANTERS[kind][fault](Rng(seed, "fault", kind, document_id), document)
    return Fault(kind, document_id, fault, pointer), spoil


def _leave(body: bytes) -> bytes:
    return body


def _place(document: Any, pointer: str) -> tuple[Any, Any]:
    """Return the object or array that holds the pointer's value, and its key there."""
    *path, last = pointer.split("/")[1:]
    for part in path:
        document = document[int(part)] if isinstance(document, list) else document[part]
    return document, int(last) if isinstance(document, list) else last


def _look(document: Any, pointer: str) -> Any:
    holder, key = _place(document, pointer)
    return holder[key]


def _put(document: Any, pointer: str, value: Any) -> tuple[str, Spoil]:
    """Set the pointer's value; an object that lacks the key gets it at its end."""
    holder, key = _place(document, pointer)
    holder[key] = value
    return pointer, _leave


def _one_of(values: Values) -> Planter:
    """Return what puts one of these values at its place."""
    return lambda rng, document: _put(document, *rng.pick(values(rng, document)))


def _at(pointers: Pointers, change: Change) -> Planter:
    """Return what makes the change at one of these places."""
    return lambda rng, document: change(rng, document, rng.pick(pointers(rng, document)))


def _drop(_rng: Rng, document: dict[str, Any], pointer: str) -> tuple[str, Spoil]:
    holder, key = _place(document, pointer)
    del holder[key]
    return pointer, _leave


def _excess_decimals(rng: Rng, document: dict[str, Any], pointer: str) -> tuple[str, Spoil]:
    """Give an amount more than four decimals: as sums in binary have them, or really."""
    more = rng.pick((Decimal("2E-15"), Decimal("1E-13"), Decimal("0.00037"), Decimal("0.0000501")))
    return _put(document, pointer, _look(document, pointer) + more)


def _duplicate_key(value: Any) -> Change:
    """Return what gives an object a key a second time, with another value; at times its letters are an escape."""

    def double(rng: Rng, document: dict[str, Any], pointer: str) -> tuple[str, Spoil]:
        holder, key = _place(document, pointer)
        holder[_TWICE] = value
        name = f"\\u{ord(key[0]):04x}{key[1:]}" if rng.often(0.3) else key
        return pointer, lambda body: body.replace(f'"{_TWICE}"'.encode(), f'"{name}"'.encode())

    return double


def _truncated(rng: Rng, _document: Any) -> tuple[str, Spoil]:
    share = 0.05 + 0.9 * rng.random()
    return "", lambda body: body[: int(len(body) * share)]


def _invalid_utf8(rng: Rng, document: dict[str, Any], pointer: str) -> tuple[str, Spoil]:
    """Put bytes into a text that are not UTF-8."""
    wrong = rng.pick(_NOT_UTF8)
    _put(document, pointer, _look(document, pointer) + _MARK)
    return pointer, lambda body: body.replace(_MARK.encode(), wrong)


_ITEM = "/items/0"
_MODIFIER = "/items/0/modifiers/0"
# Amounts that are never zero.
_CHARGES = ("/subtotal_price", "/total_price", f"{_ITEM}/price")
_AMOUNTS = (*_CHARGES, "/tip", "/discount", f"{_MODIFIER}/price")
_DIFFERENCES = ("0.01", "-0.01", "0.1", "1", "-2.5", "0.5", "10", "-0.05")
_NULLS = [
    f"/{name}"
    for name in (
        "user_phone user_email user_name user_latitude dispatch_note store_id status platform requested_time "
        "created_at subtotal_price delivery_price tip total_price items deliveries"
    ).split()
] + [
    *(f"{_ITEM}/{name}" for name in ("instructions", "price", "product_id", "quantity", "name", "modifiers")),
    *(f"{_MODIFIER}/{name}" for name in ("id", "price", "action", "quantity")),
]


def _total_off(rng: Rng, order: dict[str, Any]) -> tuple[str, Spoil]:
    difference = Decimal(rng.pick(_DIFFERENCES))
    # As often as not a part was forgotten.
    if order["tip"] and rng.often(0.5):
        difference = -order["tip"]
    return _put(order, "/total_price", shortest(order["total_price"] + difference))


def _subtotal_off(rng: Rng, order: dict[str, Any]) -> tuple[str, Spoil]:
    """Change the subtotal, and the total with it: the formula of the total still holds."""
    difference = Decimal(rng.pick(_DIFFERENCES))
    _put(order, "/total_price", shortest(order["total_price"] + difference))
    return _put(order, "/subtotal_price", shortest(order["subtotal_price"] + difference))


def _renamed_to_nowhere(at: str, id_at: str, name: str) -> Planter:
    """Return what gives a part of an order a name and an id that no menu has."""

    def rename(rng: Rng, order: dict[str, Any]) -> tuple[str, Spoil]:
        _put(order, f"{at}/name", name)
        return _put(order, id_at, _NOWHERE + rng.below(1000))

    return rename


_ORDER_PLANTERS: dict[str, Planter] = {
    "total_break": _total_off,
    "subtotal_break": _subtotal_off,
    "product_in_no_menu": _renamed_to_nowhere(_ITEM, f"{_ITEM}/product_id", "Chef's special"),
    "modifier_in_no_dictionary": _renamed_to_nowhere(_MODIFIER, f"{_MODIFIER}/id", "Something extra"),
    "new_value": _one_of(lambda *_: [
        ("/status", "handed_to_drone"), ("/platform", "smart_fridge"), ("/dispatch_method", "locker"),
        (f"{_MODIFIER}/action", "swap"),
    ]),
    "new_field": _one_of(lambda *_: [
        ("/loyalty_tier", "gold"), ("/user_birthday", "1984-02-29"),
        ("/packaging", {"reusable": True, "deposit": Decimal("0.5")}),
        (f"{_ITEM}/allergens", ["nuts", "milk"]), (f"{_MODIFIER}/colour", "red"),
    ]),
    "null": _one_of(lambda *_: [(pointer, None) for pointer in _NULLS]),
    "absent_array": _at(lambda *_: ("/items", "/deliveries", f"{_ITEM}/modifiers"), _drop),
    "wrong_type": _one_of(lambda _, order: [
        ("/total_price", str(order["total_price"])), ("/id", str(order["id"])), ("/items", {"0": order["items"][0]}),
        ("/store_id", [order["store_id"]]), ("/status", 3), ("/created_at", "yesterday"), ("/user_latitude", "north"),
        (f"{_ITEM}/quantity", "two"), (f"{_ITEM}/price", True), (f"{_MODIFIER}/quantity", Decimal("1.5")),
    ]),
    "missing_id": _at(lambda *_: ("/id",), _drop),
    "excess_decimals": _at(lambda *_: _CHARGES, _excess_decimals),
    "nan": _one_of(lambda *_: [(pointer, msgspec.Raw(b"NaN")) for pointer in _AMOUNTS]),
    "duplicate_key": _at(
        lambda *_: ("/tip", "/total_price", f"{_ITEM}/price", f"{_MODIFIER}/price"), _duplicate_key(Decimal("99.5"))
    ),
    "truncated": _truncated,
    "invalid_utf8": _at(
        lambda *_: ("/user_name", "/dispatch_note", f"{_ITEM}/name", f"{_ITEM}/instructions"), _invalid_utf8
    ),
}  # fmt: skip

_PRICE = "/menu/price_groups/0/prices/0"
_PRICES = (f"{_PRICE}/price", f"{_PRICE}/delivery_price")
_ANOTHER = {"name": "Another", "description": "", "dispatch_method": "both", "modifiers": []}


def _product(rng: Rng, menu: dict[str, Any]) -> str:
    """Return the pointer of a product that opens choices."""
    rich = [key for key, product in menu["products"].items() if product["modifiers"]]
    return f"/products/{rng.pick(rich)}"


def _group(rng: Rng, menu: dict[str, Any]) -> str:
    """Return the pointer of a modifier that a product opens: a group with options."""
    first = menu["products"][_product(rng, menu).rpartition("/")[2]]["modifiers"]
    return f"/modifiers/{rng.pick(first)['modifier_id']}"


def _dangling_reference(rng: Rng, menu: dict[str, Any]) -> tuple[str, Spoil]:
    product, group = _product(rng, menu), _group(rng, menu)
    places = (f"{_PRICE}/product_id", f"{product}/modifiers/0/modifier_id", f"{group}/children/0/modifier_id")
    return _put(menu, rng.pick(places), _NOWHERE + rng.below(1000))


def _modifier_cycle(rng: Rng, menu: dict[str, Any]) -> tuple[str, Spoil]:
    """Let an option of a group open that group again, or a group hold itself."""
    group = _group(rng, menu)
    group_id = int(group.rpartition("/")[2])
    options = menu["modifiers"][str(group_id)]["children"]
    holder = group_id if rng.often(0.25) else rng.pick(options)["modifier_id"]
    children = menu["modifiers"][str(holder)]["children"]
    children.append({"modifier_id": group_id, "position": len(children) + 1, "price": Decimal(0)})
    return f"/modifiers/{holder}/children/{len(children) - 1}", _leave


_MENU_PLANTERS: dict[str, Planter] = {
    "dangling_reference": _dangling_reference,
    "modifier_cycle": _modifier_cycle,
    "new_value": _one_of(
        lambda rng, menu: [(f"{_PRICE}/channel", "voice"), (f"{_product(rng, menu)}/dispatch_method", "locker")]
    ),
    "new_field": _one_of(lambda rng, menu: [
        ("/menu/season", "autumn"), ("/published_by", {"name": "Alex Roe", "email": "alex.roe@example.com"}),
        (f"{_PRICE}/tax_rate", Decimal("0.07")), (f"{_product(rng, menu)}/calories", 520),
    ]),
    "null": _one_of(lambda rng, menu: [
        ("/menu/name", None), ("/menu/price_groups/0/position", None), (f"{_PRICE}/delivery_price", None),
        (f"{_PRICE}/price_id", None), (f"{_product(rng, menu)}/description", None),
        (f"{_product(rng, menu)}/modifiers", None), (f"{_group(rng, menu)}/children", None),
    ]),
    "absent_array": _at(lambda rng, menu: (
        "/menu/price_groups/1/prices", f"{_product(rng, menu)}/modifiers", f"{_group(rng, menu)}/children",
    ), _drop),
    "wrong_type": _one_of(lambda rng, menu: [
        (f"{_PRICE}/price", "8,50"), (f"{_PRICE}/position", "first"), ("/products", list(menu["products"].values())),
        ("/menu/id", f"m{menu['menu']['id']}"), (f"{_product(rng, menu)}/name", 5),
        (f"{_group(rng, menu)}/children", "none"),
    ]),
    "missing_id": _at(lambda rng, menu: (
        "/menu/id", "/menu/id", f"{_PRICE}/product_id", f"{_group(rng, menu)}/children/0/modifier_id",
    ), _drop),
    "excess_decimals": _at(lambda *_: _PRICES, _excess_decimals),
    "nan": _one_of(lambda *_: [(pointer, msgspec.Raw(b"NaN")) for pointer in _PRICES]),
    "duplicate_key": _at(lambda rng, menu: (_product(rng, menu),), _duplicate_key(_ANOTHER)),
    "truncated": _truncated,
    "invalid_utf8": _at(lambda rng, menu: ("/menu/name", f"{_product(rng, menu)}/name"), _invalid_utf8),
}  # fmt: skip

PLANTERS = {"orders": _ORDER_PLANTERS, "menus": _MENU_PLANTERS}
