"""Find contacts and ids of orders in bodies that nobody could validate, however they are encoded.

A body is unpacked, read as text, and searched as it is and with escapes of JSON, percent signs and entities undone.
"""

from __future__ import annotations

import html
import re
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import msgspec

from pipelines.vault.contacts import cleaned, normal_email, normal_phone

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MOST_BYTES = 64 << 20  # of an unpacked body
_MOST_LAYERS = 4  # of escapes
_MOST_SIGNS = 320  # of either side of an address
_ENDING = 4  # digits by which a number is told from most others
_JSON_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\([\"\\/bfnrt])")
_NUMBER = re.compile(r"(?:\+[\s(]{0,3}|\()?[0-9][0-9\s()./\u2010-\u2015\u2212\u00b7-]*")
_NUMBERS_APART = re.compile(r"\s{2,}|[\n\t]|\s/\s")
_BEFORE = re.compile(r"[^@\s\"<>(),;:\[\]{}\\]*\Z")
_AFTER = re.compile(r"[\w.\-\uff0e\u3002]*")
_WITHIN = re.compile(r"[&=?/'|%]")
_MOST_WITHIN = 8
_OWN_ID = re.compile(r'"(?:order_)?id"\s*:\s*"?([0-9]{1,18})\b')
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


class Sought(NamedTuple):
    """What leads to a person: ids of orders, and contacts as contacts.py reads them."""

    ids: set[int]
    phones: set[str]
    emails: set[str]


def is_mentioned(body: bytes, sought: Sought, countries: Iterable[str]) -> bool | None:
    """Tell whether a body names any of it, or is a document of one of the orders; None if it cannot be read."""
    if (text := _text(body)) is None:
        return None
    if sought.ids and sought.ids & set(_own_ids(text)):
        return True
    endings = {each[-_ENDING:] for each in sought.phones}
    for layer in _layers(text):
        if sought.emails and not sought.emails.isdisjoint(_addresses(layer)):
            return True
        for run in _NUMBER.findall(layer) if endings else ():
            for each in {run, *_NUMBERS_APART.split(run)}:
                if "".join(c for c in each if c.isdecimal())[-_ENDING:] in endings and any(
                    normal_phone(each, country) in sought.phones for country in countries
                ):
                    return True
    return False


def is_readable(body: bytes) -> bool:
    """Tell whether a body has text, so that it can be searched."""
    return _text(body) is not None


def _text(body: bytes) -> str | None:
    """Return the text of a body, unpacked; None if it has none."""
    if body[:2] == b"\x1f\x8b" or body[:1] == b"\x78":
        try:
            body = zlib.decompressobj(47).decompress(body, _MOST_BYTES)
        except zlib.error:
            if body[:1] != b"\x78":
                return None
    is_wide = body[:2] in {b"\xff\xfe", b"\xfe\xff"} or b"\0" in body[:4]
    encodings = ("utf-16", "utf-16-be") if is_wide else ("utf-8-sig", "cp1252", "latin-1")
    for encoding in encodings:
        try:
            text = body.decode(encoding)
        except UnicodeDecodeError:
            continue
        if len(_CONTROL.findall(text)) * 10 <= len(text):
            return text
    return None


def _layers(text: str) -> Iterator[str]:
    """Yield a text as people see it, then with one layer of escapes after another undone."""
    for _ in range(_MOST_LAYERS):
        yield cleaned(text)
        unescaped = html.unescape(unquote(_JSON_ESCAPE.sub(_unescape, text)))
        if unescaped == text:
            return
        text = unescaped


def _unescape(found: re.Match[str]) -> str:
    code, sign = found.groups()
    return chr(int(code, 16)) if code else sign if sign in '"\\/' else " "


def _addresses(text: str) -> Iterator[str]:
    for at in re.finditer("@", text):
        before = _BEFORE.search(text[max(0, at.start() - _MOST_SIGNS) : at.start()])
        after = _AFTER.match(text[at.end() : at.end() + _MOST_SIGNS])
        name, domain = (before.group() if before else ""), (after.group() if after else "").rstrip(".-")
        for start in (0, *[each.end() for each in _WITHIN.finditer(name)][-_MOST_WITHIN:]):
            yield normal_email(f"{name[start:]}@{domain}")


def _own_ids(text: str) -> Iterator[int]:
    """Yield the ids that a document claims, itself or one level below."""
    try:
        tree: Any = msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        yield from (int(found.group(1)) for found in [_OWN_ID.search(text)] if found)
        return
    for each in tree if isinstance(tree, list) else [tree]:
        if isinstance(each, dict):
            for one in (each, *(value for value in each.values() if isinstance(value, dict))):
                for value in (one.get("id"), one.get("order_id")):
                    if isinstance(value, int) or (isinstance(value, str) and value.isdecimal() and len(value) < 19):
                        yield int(value)
