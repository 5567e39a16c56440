"""Bring unknown fields back into a landed document once settings name them as harmless."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from pipelines.landing.exact import parsed, plain, shown
from pipelines.landing.pattern import Sorted, attributes, pointer_order, trie, within
from pipelines.landing.shape import ORDER, SHAPES, Field, ObjectField, Shape
from pipelines.partner.pointer import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.settings import Settings

_RAW = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Rekeeper:
    """What settings name today, for the documents of one kind."""

    def __init__(self, settings: Settings, kind: str) -> None:
        stores = kind == "stores"
        self._shape = SHAPES.get(kind)
        self._patterns = settings.partner.store.allowed_pointers if stores else settings.landing.allowed_pointers
        self._trie = trie(self._patterns)
        self._member = "attributes" if stores else "_kept"

    def wants(self, document: bytes) -> bool:
        """Tell whether a document lists an unknown field that is named today."""
        if not self._patterns or b'"_unknown"' not in document:
            return False
        unknown = msgspec.json.decode(_RAW.decode(document).get("_unknown", b"{}"), type=dict[str, str])
        return any(_meets(pattern, named) for pattern in unknown for named in self._patterns)

    def rekept(self, document: bytes, content: bytes) -> tuple[bytes, bytes] | None:
        """Return document and encrypted content as they would be today; None when nothing comes back."""
        members, encrypted = _RAW.decode(document), _RAW.decode(content)
        found = Sorted()
        rest: dict[str, Any] = {}
        for pointer, value in encrypted.items():
            pattern = unknown_pattern(pointer, self._shape, shown)
            if pattern is None:
                rest[pointer] = value
            else:
                named = within(self._trie, *pattern.split("/")[1:])
                found.add(parsed(bytes(value)), pointer, pattern, named)
        if not found.kept:
            return None
        rest.update({pointer: plain(value) for pointer, value in found.encrypted.items()})
        members.pop("_unknown", None)
        before = _RAW.decode(members.pop(self._member, b"{}"))
        kept = self._kept(found, dict(before))
        if self._member == "attributes":
            members["attributes"] = msgspec.Raw(msgspec.json.encode(kept))
        if found.unknown:
            members["_unknown"] = msgspec.Raw(msgspec.json.encode(found.types()))
        if self._member == "_kept":
            members["_kept"] = msgspec.Raw(msgspec.json.encode(kept))
        return msgspec.json.encode(members), msgspec.json.encode(rest)

    def _kept(self, found: Sorted, before: dict[str, Any]) -> dict[str, Any]:
        if self._member == "attributes":
            return dict(sorted((before | attributes(found.kept)).items()))
        return dict(sorted((before | found.by_pointer()).items(), key=lambda each: pointer_order(each[0])))


def unknown_pattern(pointer: str, shape: Shape | None = ORDER, name: Callable[[str], str] = str) -> str | None:
    """Return the pattern of an unknown field's pointer, names as `name` shows them; None for a documented field."""
    at: Any = shape
    tokens: list[str] = []
    for token in parse(pointer):
        if isinstance(at, Shape):
            field = next((each for each in at.fields if each.name == token), None)
            tokens.append(name(token))
            if isinstance(field, Field):
                return None
            at = field and (field.of if isinstance(field, ObjectField) else [field.of])
        elif isinstance(at, list):
            tokens.append("*")
            at = at[0]
        else:
            tokens.append("*" if token.isdecimal() else name(token))
    return "".join(f"/{token}" for token in tokens)


def _meets(pattern: str, named: str) -> bool:
    return named == pattern or named.startswith(pattern + "/")
