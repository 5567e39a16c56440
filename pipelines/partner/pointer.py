"""Resolve JSON pointers (RFC 6901) in a parsed document; "*" matches every array element.

An error names the pointer, never a value.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

# RFC 6901 section 4: no leading zeros, no sign; "-" names an element that does not exist.
_INDEX = re.compile(r"0|[1-9][0-9]*", re.ASCII)
_BAD_ESCAPE = re.compile(r"~(?![01])")
_NOTHING = object()


class PointerError(LookupError):
    """A pointer is invalid, or leads to nothing in this document."""


def parse(pointer: str) -> tuple[str, ...]:
    """Return the reference tokens of `pointer`, unescaped; raise PointerError if it is invalid."""
    if pointer == "":
        return ()
    if not pointer.startswith("/") or _BAD_ESCAPE.search(pointer):
        raise PointerError(f"{pointer!r} is not a JSON pointer: start it with / and escape ~ as ~0")
    tokens = pointer[1:].split("/")
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in tokens)


def get(document: Any, pointer: str) -> Any:
    """Return the value at `pointer` in `document`; raise PointerError if there is none."""
    value = document
    for token in parse(pointer):
        value = _step(value, token)
        if value is _NOTHING:
            raise PointerError(f"{pointer!r} leads to nothing at {token!r}")
    return value


def get_all(document: Any, pointer: str) -> list[Any]:
    """Return all values at `pointer`, in document order; branches without it are skipped.

    A token "*" matches every element of an array; in an object it is a plain key.
    """
    return list(_walk(document, parse(pointer)))


def _walk(value: Any, tokens: tuple[str, ...]) -> Iterator[Any]:
    if not tokens:
        yield value
        return
    first, rest = tokens[0], tokens[1:]
    if first == "*" and isinstance(value, list):
        for element in value:
            yield from _walk(element, rest)
        return
    found = _step(value, first)
    if found is not _NOTHING:
        yield from _walk(found, rest)


def _step(value: Any, token: str) -> Any:
    if isinstance(value, dict):
        return value.get(token, _NOTHING)
    if isinstance(value, list) and _INDEX.fullmatch(token) and len(token) <= len(str(len(value))):
        index = int(token)
        return value[index] if index < len(value) else _NOTHING
    return _NOTHING
