"""The shape of an order that is plainly clean, and what its bytes and values say at a glance.

Whoever is not sure here says so, and the walk decides. Knows nothing of what is personal.
"""

from __future__ import annotations

import operator
import re
from decimal import Decimal, Inexact
from typing import TYPE_CHECKING, Annotated, Any, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from pipelines.landing.leaves import MONEY_LIMIT

_Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | None
_Text = str | None
_Money = Decimal | None
if TYPE_CHECKING:
    _Hidden = Any
else:
    _Hidden = UnsetType  # ours, set once the order was read: nothing in a body is of this type
_Sealed = str | None | UnsetType


class Clean(Struct, forbid_unknown_fields=True, gc=False):
    """All documented fields are required; `has_…` is ours, and a body that brings it has a key too many."""


class CleanModifier(Clean, kw_only=True):
    """An entry of a line's modifiers."""

    id: _Integer
    name: _Text
    price: _Money
    action: _Text
    quantity: _Integer


class CleanItem(Clean, kw_only=True):
    """A line."""

    id: _Integer
    product_id: _Integer
    quantity: _Integer
    name: _Text
    has_instructions: _Hidden = UNSET
    instructions: _Sealed
    price: _Money
    modifiers: list[CleanModifier]


class CleanDelivery(Clean, kw_only=True):
    """A delivery."""

    id: _Integer
    type: _Text
    has_confirmation_code: _Hidden = UNSET
    confirmation_code: _Sealed
    status: _Text
    has_tracking_url: _Hidden = UNSET
    tracking_url: _Sealed


class CleanOrder(Clean, kw_only=True):
    """An order."""

    id: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
    has_user_phone: _Hidden = UNSET
    user_phone: _Sealed
    has_user_email: _Hidden = UNSET
    user_email: _Sealed
    has_user_address: _Hidden = UNSET
    user_address: _Sealed
    has_user_name: _Hidden = UNSET
    user_name: _Sealed
    has_apartment_details: _Hidden = UNSET
    apartment_details: _Sealed
    has_user_latitude: _Hidden = UNSET
    user_latitude: Raw | UnsetType
    has_user_longitude: _Hidden = UNSET
    user_longitude: Raw | UnsetType
    has_dispatch_note: _Hidden = UNSET
    dispatch_note: _Sealed
    dispatch_method: _Text
    store_id: _Integer
    status: _Text
    platform: _Text
    requested_time: _Text
    promised_delivery_time: _Text
    promised_pick_up_time: _Text
    created_at: _Text
    subtotal_price: _Money
    delivery_price: _Money
    tip: _Money
    discount: _Money
    loyalty_discount: _Money
    total_price: _Money
    items: list[CleanItem]
    deliveries: list[CleanDelivery]


_ORDER_KEYS, _ITEM_KEYS, _MODIFIER_KEYS, _DELIVERY_KEYS = 25, 7, 5, 5
_DECIMALS = 4
_ZERO = Decimal(0)
# A blank between key and colon would hide a key from being counted; Decimal would take an amount in a string.
# (Four searches that each begin with a literal are several times faster than one that begins with a choice.)
_ODD = [
    re.compile(pattern).search
    for pattern in (
        rb'"[ \t\n\r]+:',
        rb'price":[ \t\n\r]*"',
        rb'tip":[ \t\n\r]*"',
        rb'discount":[ \t\n\r]*"',
    )
]
# A key whose letters are escaped would hide from the above.
_ESCAPED_LETTER = re.compile(rb"\\u00[4-7]")


def modifiers_of(order: CleanOrder) -> int:
    """Return how many modifiers all lines have together."""
    return sum([len(item.modifiers) for item in order.items])


def keys_of(order: CleanOrder) -> int:
    """Return how many keys a clean order has."""
    below = _ITEM_KEYS * len(order.items) + _DELIVERY_KEYS * len(order.deliveries)
    return _ORDER_KEYS + below + _MODIFIER_KEYS * modifiers_of(order)


def is_plain(body: bytes) -> bool:
    """Tell whether keys can be counted and amounts trusted to be numbers, from the bytes alone."""
    for odd in _ODD:
        if odd(body):
            return False
    if _ESCAPED_LETTER.search(body):
        return False
    if not body.isascii():
        try:
            body.decode()
        except UnicodeDecodeError:
            return False
    return True


def money_of(order: CleanOrder, nulls: int) -> tuple[Decimal, Decimal, Decimal] | None:
    """Return the sums of order, line and modifier money; None if an amount needs a closer look."""
    of_order = [
        order.subtotal_price,
        order.delivery_price,
        order.tip,
        order.discount,
        order.loyalty_discount,
        order.total_price,
    ]
    of_lines = [item.price for item in order.items]
    of_modifiers = [modifier.price for item in order.items for modifier in item.modifiers]
    if nulls:  # comparing a Decimal with None is slow, so none is looked for where the bytes say there is none
        of_order = [each for each in of_order if each is not None]
        of_lines = [each for each in of_lines if each is not None]
        of_modifiers = [each for each in of_modifiers if each is not None]
    amounts = cast("list[Decimal]", of_order + of_lines + of_modifiers)
    if not amounts:
        return _ZERO, _ZERO, _ZERO
    if max(amounts) >= MONEY_LIMIT or min(amounts) <= -MONEY_LIMIT:
        return None
    try:
        total, lines, modifiers = (
            sum(cast("list[Decimal]", each), _ZERO) for each in (of_order, of_lines, of_modifiers)
        )
        # The sum has the most decimals of any of them, and shows an exponent where all have one.
        shown = str(total + lines + modifiers)
    except Inexact:
        return None
    point = shown.rfind(".")
    if "E" in shown or (point >= 0 and len(shown) - point - 1 > _DECIMALS):
        return None
    return total, lines, modifiers


def absences_of(order: CleanOrder, nulls: int) -> list[str]:
    """Return the paths that are null; `nulls` is how often the bytes say null, so that a search can end early."""
    found = [absence for absence, value in zip(_NULLABLE, _nullable(order), strict=True) if value is None]
    if len(found) == nulls:
        return found
    found += [f"{name}=null" for name in _PLACE if bytes(getattr(order, name)) == b"null"]
    if len(found) < nulls:
        below = {
            f"{path}/{name}=null"
            for path, parts, names in (
                ("items/*", order.items, _ITEM_NAMES),
                ("items/*/modifiers/*", [each for item in order.items for each in item.modifiers], _MODIFIER_NAMES),
                ("deliveries/*", order.deliveries, _DELIVERY_NAMES),
            )
            for part in parts
            for name in names
            if getattr(part, name) is None
        }
        found += below
    found.sort()
    return found


_PLACE = ("user_latitude", "user_longitude")


def _names(kind: type[Struct]) -> tuple[str, ...]:
    return tuple(name for name in kind.__struct_fields__ if not name.startswith("has_"))


_nullable = operator.attrgetter(*sorted(set(_names(CleanOrder)) - set(_PLACE)))
_NULLABLE = [f"{name}=null" for name in sorted(set(_names(CleanOrder)) - set(_PLACE))]
_ITEM_NAMES, _MODIFIER_NAMES, _DELIVERY_NAMES = _names(CleanItem), _names(CleanModifier), _names(CleanDelivery)
