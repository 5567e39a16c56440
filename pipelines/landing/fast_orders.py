"""Validate orders that are plainly clean, quickly and exactly as the walk would; leave all others to it.

"Plainly clean" is: every documented field there, nothing else, no key twice, no amount written with an exponent or
with more than four decimals. It never rejects a body.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from pipelines.landing.clean_order import (
    LEVELS,
    CleanOrder,
    is_plain,
    keys_of,
    nulls_of,
    objects_of,
    pointers_of,
    sums_of,
)
from pipelines.landing.shape import COUNTS
from pipelines.landing.validated import EMPTY, ValidatedDocument

if TYPE_CHECKING:
    from collections.abc import Iterable

DEPTH = 1 + 2 * max(level.path.count("*") for level in LEVELS)  # of a documented order
_CLOCK = re.compile(
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?", re.ASCII
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_DATES_KEPT = 10_000
_NUMBER_STARTS = frozenset(b"-0123456789")
_COUNTED = range(1, 1 + len(COUNTS["orders"]))  # every level but the order itself


class FastOrders:
    """The quick path; `validate` returns None for whatever it leaves to the walk."""

    def __init__(self, plaintext_fields: Iterable[str], max_bytes: int) -> None:
        allowed = frozenset(plaintext_fields)
        self._max_bytes = max_bytes
        self._decode = msgspec.json.Decoder(CleanOrder).decode
        self._encode = msgspec.json.Encoder().encode
        self._write = msgspec.json.Encoder(decimal_format="number").encode
        self._dates: set[str] = set()
        self._times = [(at, name) for at, level in enumerate(LEVELS) for name in level.times]
        self._hidden = [
            (at, [(name, has, f"/{name}", is_number, name in allowed) for name, has, is_number in level.hidden])
            for at, level in enumerate(LEVELS)
            if level.hidden
        ]

    def validate(self, body: bytes, asked: int | None) -> ValidatedDocument | None:
        """Return the walk's result for `body`, or None when it is not plainly clean."""
        objects = self._read(body) if len(body) <= self._max_bytes else None
        if objects is None or (asked is not None and objects[0][0].id != asked):
            return None
        order = objects[0][0]
        nulls = body.count(b"null")
        sums = sums_of(objects, nulls)
        if sums is None or not self._are_times(objects):
            return None
        missing = nulls_of(objects, nulls) if nulls else []
        phone, email = order.user_phone, order.user_email
        content = self._split(objects)
        document = b"" if content is None else self._encode(order)
        if not document or b"E+" in document:  # an amount may have been written with an exponent
            return None
        return ValidatedDocument(
            id=order.id,
            document=document,
            sha256=hashlib.sha256(document).digest(),
            content=self._encode(content) if content else EMPTY,
            phone=phone,
            email=email,
            missing_fields=missing,
            rounded_count=0,
            counts=tuple([len(objects[at]) for at in _COUNTED]),
            sums=sums,
        )

    def _read(self, body: bytes) -> list[list[Any]] | None:
        """Return the objects of the order in `body`; None unless no key repeats and no amount is a string."""
        try:
            order = self._decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ArithmeticError):
            return None
        objects = objects_of(order)
        # A body that is what we would write ourselves hides nothing; any other is checked byte by byte.
        if self._write(order) == body or (is_plain(body) and body.count(b'":') == keys_of(objects)):
            return objects
        return None

    def _are_times(self, objects: list[list[Any]]) -> bool:
        dates, clock = self._dates, _CLOCK.fullmatch
        for at, name in self._times:
            for each in objects[at]:
                text = getattr(each, name)
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

    def _split(self, objects: list[list[Any]]) -> dict[str, Any] | None:
        """Take hidden members out of the objects and return them by pointer; None if a number is not one."""
        content: dict[str, Any] = {}
        for level, hidden in self._hidden:
            for held, pointer in zip(objects[level], pointers_of(objects, level)):  # noqa: B905 -- hot
                for name, has, token, is_number, is_allowed in hidden:
                    value = getattr(held, name)
                    if is_number:
                        text = bytes(value)
                        value = None if text == b"null" else value
                        if value is not None and text[0] not in _NUMBER_STARTS:
                            return None
                    if value is None:
                        setattr(held, has, None)
                        setattr(held, name, UNSET)
                        continue
                    setattr(held, has, is_number or value != "")
                    if not is_allowed:
                        content[pointer + token] = value
                        setattr(held, name, UNSET)
        return content
