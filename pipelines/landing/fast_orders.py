"""Judge orders that are plainly clean, quickly and exactly as the walk would; leave all others to it.

"Plainly clean" is: every documented field there, nothing else, no key twice, no amount written with an exponent or
with more than four decimals. Knows nothing of why a body is refused: it never refuses one.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import UNSET

from pipelines.landing.clean_order import (
    CleanDelivery,
    CleanItem,
    CleanOrder,
    absences_of,
    is_plain,
    keys_of,
    modifiers_of,
    money_of,
)
from pipelines.landing.validated import EMPTY, Judged

if TYPE_CHECKING:
    from collections.abc import Iterable

DEPTH = 5  # of a documented order
_CLOCK = re.compile(
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?", re.ASCII
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_DATES_KEPT = 10_000
_NUMBER_STARTS = frozenset(b"-0123456789")
_POINTERS = 100
_INSTRUCTIONS = [f"/items/{at}/instructions" for at in range(_POINTERS)]
_HIDDEN = tuple(
    (name, f"has_{name}", f"/{name}")
    for name in ("user_phone", "user_email", "user_address", "user_name", "apartment_details")
)
_PLACE = tuple((name, f"has_{name}", f"/{name}") for name in ("user_latitude", "user_longitude"))


class FastOrders:
    """The quick path; `judge` returns None for whatever it leaves to the walk."""

    def __init__(self, plaintext_fields: Iterable[str], max_bytes: int) -> None:
        self._open = frozenset(plaintext_fields)
        self._max_bytes = max_bytes
        self._decode = msgspec.json.Decoder(CleanOrder).decode
        self._encode = msgspec.json.Encoder().encode
        self._write = msgspec.json.Encoder(decimal_format="number").encode
        self._dates: set[str] = set()

    def judge(self, body: bytes, asked: int | None) -> Judged | None:
        """Return what the walk would return for `body`, or None when it is not plainly clean."""
        order = self._read(body) if len(body) <= self._max_bytes else None
        if order is None or (asked is not None and order.id != asked):
            return None
        nulls = body.count(b"null")
        sums = money_of(order, nulls)
        if sums is None or not self._are_times(order):
            return None
        absences = absences_of(order, nulls) if nulls else []
        phone, email = cast("str | None", order.user_phone), cast("str | None", order.user_email)
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
            counts=(len(order.items), modifiers_of(order), len(order.deliveries)),
            sums=sums,
        )

    def _read(self, body: bytes) -> CleanOrder | None:
        """Return the order in `body`, or None unless it is sure that no key stands twice and no amount is a string."""
        try:
            order = self._decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ArithmeticError):
            return None
        # A body that is what we would write ourselves hides nothing; any other is looked at byte by byte.
        if self._write(order) == body or (is_plain(body) and body.count(b'":') == keys_of(order)):
            return order
        return None

    def _are_times(self, order: CleanOrder) -> bool:
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

    def _split(self, order: CleanOrder) -> dict[str, Any] | None:
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

    def _split_items(self, items: list[CleanItem], content: dict[str, Any]) -> None:
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

    def _split_deliveries(self, deliveries: list[CleanDelivery], content: dict[str, Any]) -> None:
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
