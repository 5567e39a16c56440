"""Sort the parts of a value by pointer patterns: those that settings name are kept, everything else is unknown.

A pattern is a JSON pointer in which "*" stands for every element of an array. If an order was erased, kept fields and
undocumented names go, and the plaintext fields.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from pipelines.landing.exact import IntegerText, escaped, plain, safe_key, type_name
from pipelines.landing.shape import ORDER, ArrayField, Field, ObjectField, Shape
from pipelines.partner.pointer import KEYS, elements_of, key_value, parse

Trie = dict[str, Any]
_END = "\0end"
_MOST_PATTERNS = 1_000  # of one document; whatever comes beyond is listed as one
_BEYOND = "/?"


def trie(patterns: Iterable[str]) -> Trie:
    """Return the patterns as a tree of tokens; the end of one holds the pattern itself."""
    root: Trie = {}
    for pattern in patterns:
        at = root
        for token in pattern.split("/")[1:]:
            at = at.setdefault(token, {})
        at[_END] = pattern
    return root


def within(tree: Trie, *tokens: str) -> Trie:
    """Return the part of a trie below tokens; empty where no pattern goes."""
    for token in tokens:
        tree = tree.get(token, {})
    return tree


class Sorted:
    """What was found in one document: kept values by pattern, unknown ones by pointer, unknown types by pattern."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, str, Any]] = []  # (pattern, pointer, value)
        self.encrypted: dict[str, Any] = {}  # pointer → value
        self.unknown: dict[str, set[str]] = {}  # pattern → types

    def add(self, value: Any, pointer: str, pattern: str, named: Trie) -> None:
        """Sort one value; `named` are the patterns from here on."""
        if _END in named:
            self.kept.append((named[_END], pointer, value))
            if len(named) > 1:  # another pattern goes on from here
                within_kept = Sorted()
                within_kept.add(value, pointer, pattern, {t: each for t, each in named.items() if t != _END})
                self.kept += within_kept.kept
        elif "*" in named and (elements := elements_of(value)) is not None:
            for at, element in enumerate(elements):
                self.add(element, f"{pointer}/{at}", f"{pattern}/*", named["*"])
        elif named and isinstance(value, dict):
            self.members(value, pointer, pattern, named)
        else:
            self.encrypted[pointer] = value
            if len(self.unknown) >= _MOST_PATTERNS and pattern not in self.unknown:
                pattern = _BEYOND
            self.unknown.setdefault(pattern, set()).add(type_name(value))

    def members(self, value: dict[str, Any], pointer: str, pattern: str, named: Trie) -> None:
        """Sort the members of an object."""
        if KEYS in named:  # keys that are values, of which no pointer shows one
            here = f"{pointer}/{KEYS}"
            self.kept += [(named[KEYS][_END], here, _key(key)) for key in value]
        for key, each in value.items():
            token = escaped(key)
            self.add(each, f"{pointer}/{token}", f"{pattern}/{escaped(safe_key(key))}", named.get(token, {}))

    def by_pointer(self) -> dict[str, Any]:
        """Return kept values by pointer, in the order of the document."""
        values = {pointer: plain(value) for _, pointer, value in self.kept}
        return dict(sorted(values.items(), key=lambda each: pointer_order(each[0])))

    def types(self) -> dict[str, str]:
        """Return the types of unknown values by pattern, in order; several are joined by "|"."""
        return {pattern: "|".join(sorted(self.unknown[pattern])) for pattern in sorted(self.unknown)}


def _key(key: str) -> str:
    return IntegerText(key) if isinstance(key_value(key), int) else key


def pointer_order(pointer: str) -> list[tuple[int, int, str]]:
    """Order pointers as a document would: array positions by value."""
    return [(0, int(t), "") if t.isdecimal() and t.isascii() else (1, 0, t) for t in pointer.split("/")]


def unknown_pattern(pointer: str) -> str | None:
    """Return the pattern of the pointer to an unknown field of an order; None for a documented one."""
    at: Any = ORDER
    tokens: list[str] = []
    for token in parse(pointer):
        if isinstance(at, Shape):
            field = next((each for each in at.fields if each.name == token), None)
            tokens.append(token)
            if isinstance(field, Field):
                return None
            at = field and (field.of if isinstance(field, ObjectField) else [field.of])
        elif isinstance(at, list):
            tokens.append("*")
            at = at[0]
        else:
            tokens.append("*" if token.isdecimal() else token)
    return "".join(f"/{token}" for token in tokens)


def attributes(kept: list[tuple[str, str, Any]]) -> dict[str, Any]:
    """Return kept values by pattern; one with "*" holds a list."""
    found: dict[str, Any] = {}
    for pattern, _, value in kept:
        if "*" in pattern.split("/"):
            found.setdefault(pattern, []).append(plain(value))
        else:
            found[pattern] = plain(value)
    return dict(sorted(found.items()))


UNKNOWN = "_unknown"
KEPT = "_kept"  # the unknown fields that [landing] allowed_pointers names, pointer → value
_RAW = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ELEMENTS = msgspec.json.Decoder(list[msgspec.Raw])


def without_plaintext(document: bytes, shape: Shape = ORDER) -> bytes:
    """Return an order without the fields that settings can publish or keep; undocumented names are replaced."""
    members = _RAW.decode(document)
    if shape is ORDER:
        members.pop(KEPT, None)
        if UNKNOWN in members:
            members[UNKNOWN] = msgspec.Raw(msgspec.json.encode(_unnamed(members[UNKNOWN])))
    for field in shape.fields:
        if (value := members.get(field.name)) is None:
            continue
        if isinstance(field, Field):
            if field.free:
                del members[field.name]
        elif isinstance(field, ArrayField) and bytes(value).startswith(b"["):
            elements = [
                msgspec.Raw(without_plaintext(bytes(each), field.of)) if bytes(each).startswith(b"{") else each
                for each in _ELEMENTS.decode(bytes(value))
            ]
            members[field.name] = msgspec.Raw(msgspec.json.encode(elements))
    return msgspec.json.encode(members)


def _unnamed(unknown: msgspec.Raw) -> dict[str, str]:
    """Return the types of undocumented fields by pattern, the names in it replaced."""
    found: dict[str, set[str]] = {}
    for pattern, types in msgspec.json.decode(unknown, type=dict[str, str]).items():
        found.setdefault(f"{pattern.rpartition('/')[0]}/?", set()).update(types.split("|"))
    return {pattern: "|".join(sorted(types)) for pattern, types in sorted(found.items())}
