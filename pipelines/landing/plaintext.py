"""Remove from a canonical order what settings can publish or keep, and undocumented names, if it was erased."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pipelines.landing.shape import ORDER, ArrayField, Field

if TYPE_CHECKING:
    from pipelines.landing.shape import Shape

UNKNOWN = "_unknown"
KEPT = "_kept"  # the unknown fields that [landing] allowed_pointers names, pointer → value
_RAW = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ELEMENTS = msgspec.json.Decoder(list[msgspec.Raw])


def without_plaintext(document: bytes, shape: Shape = ORDER) -> bytes:
    """Return a canonical order without the fields that settings can publish or keep; equal if it has none of them.

    Names of undocumented fields are replaced, as they may be personal.
    """
    members = _RAW.decode(document)
    if shape is ORDER:
        members.pop(KEPT, None)
        if UNKNOWN in members:
            members[UNKNOWN] = msgspec.Raw(msgspec.json.encode(_unnamed(members[UNKNOWN])))
    for field in shape.fields:
        value = members.get(field.name)
        if value is None:
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
