"""Ways of spoiling any JSON document: the faults that orders and menus have in common."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.sandbox.rng import Rng

# A change to a document's bytes after it was encoded.
Spoil = Callable[[bytes], bytes]
# Changes a document; returns the JSON pointer of the fault, and the change to the bytes.
Planter = Callable[["Rng", dict[str, Any]], tuple[str, Spoil]]

# A key, and a character of a text, that no document has: they stand where bytes are changed afterwards.
_TWICE = "_twice"
_MARK = "\ue000"
_NOT_UTF8 = (b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xe2\x82")


def leave(body: bytes) -> bytes:
    """Return the bytes as they are."""
    return body


def place(document: Any, pointer: str) -> tuple[Any, Any]:
    """Return the object or array that holds the pointer's value, and its key there."""
    *path, last = pointer.split("/")[1:]
    for part in path:
        document = document[int(part)] if isinstance(document, list) else document[part]
    return document, int(last) if isinstance(document, list) else last


def look(document: Any, pointer: str) -> Any:
    """Return the pointer's value."""
    holder, key = place(document, pointer)
    return holder[key]


def put(document: Any, pointer: str, value: Any) -> tuple[str, Spoil]:
    """Set the pointer's value; an object that lacks the key gets it at its end."""
    holder, key = place(document, pointer)
    holder[key] = value
    return pointer, leave


def drop(document: Any, pointer: str) -> tuple[str, Spoil]:
    """Remove the pointer's value."""
    holder, key = place(document, pointer)
    del holder[key]
    return pointer, leave


def excess_decimals(rng: Rng, document: Any, pointers: Sequence[str]) -> tuple[str, Spoil]:
    """Give an amount more than four decimals: as sums in binary have them, or really."""
    pointer = rng.pick(pointers)
    more = rng.pick((Decimal("2E-15"), Decimal("1E-13"), Decimal("0.00037"), Decimal("0.0000501")))
    return put(document, pointer, look(document, pointer) + more)


def nan(rng: Rng, document: Any, pointers: Sequence[str]) -> tuple[str, Spoil]:
    """Put NaN, which JSON does not have, for an amount."""
    return put(document, rng.pick(pointers), msgspec.Raw(b"NaN"))


def duplicate_key(rng: Rng, document: Any, pointers: Sequence[str], value: Any) -> tuple[str, Spoil]:
    """Give an object a key a second time, with another value; at times its letters are written as an escape."""
    pointer = rng.pick(pointers)
    holder, key = place(document, pointer)
    holder[_TWICE] = value
    name = f"\\u{ord(key[0]):04x}{key[1:]}" if rng.often(0.3) else key
    return pointer, lambda body: body.replace(f'"{_TWICE}"'.encode(), f'"{name}"'.encode())


def truncated(rng: Rng, _document: Any) -> tuple[str, Spoil]:
    """Let the text end before its time."""
    share = 0.05 + 0.9 * rng.random()
    return "", lambda body: body[: int(len(body) * share)]


def invalid_utf8(rng: Rng, document: Any, pointers: Sequence[str]) -> tuple[str, Spoil]:
    """Put bytes into a text that are not UTF-8."""
    pointer, wrong = rng.pick(pointers), rng.pick(_NOT_UTF8)
    put(document, pointer, look(document, pointer) + _MARK)
    return pointer, lambda body: body.replace(_MARK.encode(), wrong)
