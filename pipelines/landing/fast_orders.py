"""Judge orders that are plainly clean, quickly and exactly as the walk would; leave all others to it.

"Plainly clean" is: every documented field there, nothing else, no key twice, no amount written with an exponent or
with more than four decimals. Knows nothing of why a body is refused: it never refuses one.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import operator
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from pipelines.landing.judged import EMPTY, Judged
from pipelines.landing.leaves import MONEY_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterable

_Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | None
_Text = str | None
_Money = Decimal | None
_Hidden = bool | None | UnsetType
_Sealed = str | None | UnsetType


class _Clean(Struct, forbid_unknown_fields=True, gc=False):
    """All documented fields are required; `has_…` is ours, and a body that brings it has a key too many."""


class _Modifier(_Clean, kw_only=True):
    id: _Integer
    name: _Text
    price: _Money
    action: _Text
    quantity: _Integer


class _Item(_Clean, kw_only=True):
    id: _Integer
    product_id: _Integer
    quantity: _Integer
    name: _Text
    has_instructions: _Hidden = UNSET
    instructions: _Sealed
    price: _Money
    modifiers: list[_Modifier]


class _Delivery(_Clean, kw_only=True):
    id: _Integer
    type: _Text
    has_confirmation_code: _Hidden = UNSET
    confirmation_code: _Sealed
    status: _Text
    has_tracking_url: _Hidden = UNSET
    tracking_url: _Sealed


class _Order(_Clean, kw_only=True):
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
    items: list[_Item]
    deliveries: list[_Delivery]


_ORDER_KEYS, _ITEM_KEYS, _MODIFIER_KEYS, _DELIVERY_KEYS = 25, 7, 5, 5
DEPTH = 5  # of a documented order
_DECIMALS = 4
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
_CLOCK = re.compile(
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?", re.ASCII
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_DATES_KEPT = 10_000
_NUMBER_STARTS = frozenset(b"-0123456789")
_ZERO = Decimal(0)
_POINTERS = 100
_INSTRUCTIONS = [f"/items/{at}/instructions" for at in range(_POINTERS)]
_HIDDEN = tuple(
    (name, f"has_{name}", f"/{name}")
    for name in ("user_phone", "user_email", "user_address", "user_name", "apartment_details")
)
_PLACE = tuple((name, f"has_{name}", f"/{name}") for name in ("user_latitude", "user_longitude"))


class FastOrders:
    """The quick path; `judge` returns None for whatever it leaves to the walk."""

    def __init__(self, open_fields: Iterable[str], max_bytes: int) -> None:
        self._open = frozenset(open_fields)
        self._max_bytes = max_bytes
        self._decode = msgspec.json.Decoder(_Order).decode
        self._encode = msgspec.json.Encoder().encode
        self._write = msgspec.json.Encoder(decimal_format="number").encode
        self._dates: set[str] = set()

    def judge(self, body: bytes, asked: int | None) -> Judged | None:
        """Return what the walk would return for `body`, or None when it is not plainly clean."""
        if len(body) > self._max_bytes:
            return None
        try:
            order = self._decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        items, deliveries = order.items, order.deliveries
        if asked is not None and order.id != asked:
            return None
        lines, modifiers = len(items), sum([len(item.modifiers) for item in items])
        # A body that is what we would write ourselves hides nothing; any other is looked at byte by byte.
        if self._write(order) != body:
            keys = _ORDER_KEYS + _ITEM_KEYS * lines + _MODIFIER_KEYS * modifiers + _DELIVERY_KEYS * len(deliveries)
            if not _is_plain(body) or body.count(b'":') != keys:
                return None
        nulls = body.count(b"null")
        sums = _sums(order, nulls)
        if sums is None or not self._are_times(order):
            return None
        absences = _absences(order, nulls) if nulls else []
        phone, email = order.user_phone, order.user_email
        content = self._split(order)
        if content is None:
            return None
        document = self._encode(order)
        if b"E+" in document:  # an amount may have been written with an exponent
            return None
        return Judged(
            id=order.id,
            document=document,
            sha256=hashlib.sha256(document).digest(),
            content=self._encode(content) if content else EMPTY,
            phone=phone,
            email=email,
            absences=absences,
            rounded=0,
            counts=(lines, modifiers, len(deliveries)),
            sums=sums,
        )

    def _are_times(self, order: _Order) -> bool:
        dates, clock = self._dates, _CLOCK.fullmatch
        for text in (
            order.requested_time,
            order.promised_delivery_time,
            order.promised_pick_up_time,
            order.created_at,
        ):
            if text is not None and not (clock(text, 10) and (text[:10] in dates or self._is_date(text[:10]))):
                return False
        return True

    def _is_date(self, text: str) -> bool:
        """Tell whether a date is real and no offset can push it out of the calendar; remember it if so."""
        if not _DATE.fullmatch(text):
            return False
        try:
            year = dt.date.fromisoformat(text).year
        except ValueError:
            return False
        if dt.MINYEAR < year < dt.MAXYEAR:
            if len(self._dates) >= _DATES_KEPT:
                self._dates.clear()
            self._dates.add(text)
            return True
        return False

    def _split(self, order: _Order) -> dict[str, Any] | None:
        """Take what is personal out of the order and return it by pointer; None if a place is no number."""
        content: dict[str, Any] = {}
        for name, has, pointer in _HIDDEN:
            value = getattr(order, name)
            if value is None:
                setattr(order, has, None)
            else:
                setattr(order, has, value != "")
                content[pointer] = value
            setattr(order, name, UNSET)
        for name, has, pointer in _PLACE:
            value = getattr(order, name)
            text = bytes(value)
            if text == b"null":
                setattr(order, has, None)
            elif text[0] in _NUMBER_STARTS:
                setattr(order, has, True)
                content[pointer] = value
            else:
                return None
            setattr(order, name, UNSET)
        note = order.dispatch_note
        order.has_dispatch_note = None if note is None else note != ""
        if note is None or "dispatch_note" not in self._open:
            if note is not None:
                content["/dispatch_note"] = note
            order.dispatch_note = UNSET
        self._split_items(order.items, content)
        self._split_deliveries(order.deliveries, content)
        return content

    def _split_items(self, items: list[_Item], content: dict[str, Any]) -> None:
        opened = "instructions" in self._open
        for at, item in enumerate(items):
            value = item.instructions
            if value is None:
                item.has_instructions = None
                item.instructions = UNSET
                continue
            item.has_instructions = value != ""
            if not opened:
                content[_INSTRUCTIONS[at] if at < _POINTERS else f"/items/{at}/instructions"] = value
                item.instructions = UNSET

    def _split_deliveries(self, deliveries: list[_Delivery], content: dict[str, Any]) -> None:
        code_opened, url_opened = "confirmation_code" in self._open, "tracking_url" in self._open
        for at, delivery in enumerate(deliveries):
            value = delivery.confirmation_code
            delivery.has_confirmation_code = None if value is None else value != ""
            if value is not None and not code_opened:
                content[f"/deliveries/{at}/confirmation_code"] = value
            if value is None or not code_opened:
                delivery.confirmation_code = UNSET
            value = delivery.tracking_url
            delivery.has_tracking_url = None if value is None else value != ""
            if value is not None and not url_opened:
                content[f"/deliveries/{at}/tracking_url"] = value
            if value is None or not url_opened:
                delivery.tracking_url = UNSET


def _is_plain(body: bytes) -> bool:
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


def _sums(order: _Order, nulls: int) -> tuple[Decimal, Decimal, Decimal] | None:
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
    amounts = of_order + of_lines + of_modifiers
    if nulls:  # comparing a Decimal with None is slow, so none is looked for where the bytes say there is none
        of_order = [each for each in of_order if each is not None]
        of_lines = [each for each in of_lines if each is not None]
        of_modifiers = [each for each in of_modifiers if each is not None]
        amounts = of_order + of_lines + of_modifiers
    if not amounts:
        return _ZERO, _ZERO, _ZERO
    if max(amounts) >= MONEY_LIMIT or min(amounts) <= -MONEY_LIMIT:
        return None
    sums = (sum(of_order, _ZERO), sum(of_lines, _ZERO), sum(of_modifiers, _ZERO))
    # The sum has the most decimals of any of them, and shows an exponent where all have one.
    shown = str(sums[0] + sums[1] + sums[2])
    point = shown.rfind(".")
    if "E" in shown or (point >= 0 and len(shown) - point - 1 > _DECIMALS):
        return None
    return sums


def _absences(order: _Order, nulls: int) -> list[str]:
    """Return the paths that are null; `nulls` is how often the bytes say null, so that a search can end early."""
    found = [absence for absence, value in zip(_NULLABLE, _nullable(order), strict=True) if value is None]
    if len(found) == nulls:
        return found
    found += [f"{name}=null" for name, *_ in _PLACE if bytes(getattr(order, name)) == b"null"]
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


def _names(kind: type[Struct]) -> tuple[str, ...]:
    return tuple(name for name in kind.__struct_fields__ if not name.startswith("has_"))


_nullable = operator.attrgetter(*sorted(set(_names(_Order)) - {each[0] for each in _PLACE}))
_NULLABLE = [f"{name}=null" for name in sorted(set(_names(_Order)) - {each[0] for each in _PLACE})]
_ITEM_NAMES, _MODIFIER_NAMES, _DELIVERY_NAMES = _names(_Item), _names(_Modifier), _names(_Delivery)
