"""Resolve JSON pointers (RFC 6901), "*" for every element of an array; errors name the pointer, never a value."""

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import msgspec

# RFC 6901 section 4: no leading zeros, no sign; "-" names an element that does not exist.
_INDEX = re.compile(r"0|[1-9][0-9]*", re.ASCII)
_BAD_ESCAPE = re.compile(r"~(?![01])")
_DIGITS = 20  # of a key; a longer one is no 64-bit id
_NOTHING = object()
KEYS = "{key}"  # stands for every key of an object, at the end of a pointer
_MOST_ELEMENTS = 1_000  # of an array, that `raw_at` reads
# What msgspec raises for bytes that are no JSON.
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


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
        if (value := _step(value, token)) is _NOTHING:
            raise PointerError(f"{pointer!r} leads to nothing at {token!r}")
    return value


def is_json(body: bytes) -> bool:
    """Return whether `body` is one JSON value, or too deep to tell; nothing of it is kept."""
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except RecursionError:
        return True
    except UNREADABLE:
        return False
    return True


def raw_at(body: bytes | msgspec.Raw, tokens: Iterable[str]) -> msgspec.Raw | None:
    """Return the JSON text at a parsed pointer; None if there is none, or in an array after the thousandth element.

    Passes over all else without keeping it, so that time and memory do not depend on what a hostile body holds.
    """
    value = body if isinstance(body, msgspec.Raw) else msgspec.Raw(body)
    for token in tokens:
        try:
            value = _member(token)(value)
        except (*UNREADABLE, KeyError):
            if not _INDEX.fullmatch(token) or not len(token) < len(str(_MOST_ELEMENTS)):
                return None
            try:
                value = _element(int(token))(value)
            except UNREADABLE:
                return None
    return value


@functools.lru_cache(maxsize=256)
def _member(name: str) -> Callable[[msgspec.Raw], msgspec.Raw]:
    if any(sign in '"\\' or sign < " " for sign in name):  # msgspec has no such fields
        members = msgspec.json.Decoder(dict[str, msgspec.Raw])
        return lambda text: members.decode(text)[name]
    member: msgspec.json.Decoder[Any] = msgspec.json.Decoder(
        msgspec.defstruct("Member", [("value", msgspec.Raw)], rename={"value": name})
    )
    return lambda text: cast("msgspec.Raw", member.decode(text).value)


@functools.lru_cache(maxsize=256)
def _element(index: int) -> Callable[[msgspec.Raw], msgspec.Raw]:
    fields = [(f"e{n}", msgspec.Raw) for n in range(index + 1)]
    elements = msgspec.json.Decoder(msgspec.defstruct("Elements", fields, array_like=True))
    return lambda text: cast("msgspec.Raw", getattr(elements.decode(text), f"e{index}"))


def get_all(document: Any, pointer: str) -> list[Any]:
    """Return all values at `pointer`, in document order; branches without it are skipped.

    A token "*" matches every element of an array, also of one that came as an object of positions; in another object it
    is a plain key. A last token "{key}" gives the keys
    of an object, those that are whole numbers as such.
    """
    return list(_walk(document, parse(pointer)))


def key_value(key: str) -> int | str:
    """Return a key as the id that it is, if it is a whole number written as JSON writes one."""
    return int(key) if _INDEX.fullmatch(key) and len(key) < _DIGITS else key


def elements_of(value: Any) -> list[Any] | None:
    """Return the elements of an array, also of one that came as an object of positions; None of anything else."""
    if isinstance(value, dict) and all(isinstance(key_value(key), int) for key in value):
        return [value[key] for key in sorted(value, key=int)]
    return value if isinstance(value, list) else None


def _walk(value: Any, tokens: tuple[str, ...]) -> Iterator[Any]:
    if not tokens:
        yield value
        return
    first, rest = tokens[0], tokens[1:]
    if first == "*" and (elements := elements_of(value)) is not None:
        for element in elements:
            yield from _walk(element, rest)
        return
    if first == KEYS and not rest and isinstance(value, dict):
        yield from map(key_value, value)
        return
    if (found := _step(value, first)) is not _NOTHING:
        yield from _walk(found, rest)


def _step(value: Any, token: str) -> Any:
    if isinstance(value, dict):
        return value.get(token, _NOTHING)
    if isinstance(value, list) and _INDEX.fullmatch(token) and len(token) <= len(str(len(value))):
        index = int(token)
        return value[index] if index < len(value) else _NOTHING
    return _NOTHING
