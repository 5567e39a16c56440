"""Distinguish a maintenance page or an error, the same for every id, from a document that is itself broken.

Of a document it knows the names of its fields at most.
"""

from __future__ import annotations

import enum
import functools
import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable

_MOST = 1_000  # bodies remembered; then the memory is cleared


class BodyOrigin(enum.Enum):
    """Where a body that is no usable document comes from."""

    UNKNOWN = enum.auto()  # seen for the first time
    DOCUMENT = enum.auto()  # the same again for the same id: the service has this
    PAGE = enum.auto()  # the same for different ids: not a document


def has_a_field(body: bytes, names: Collection[str]) -> bool:
    """Return whether a body is a JSON object with at least one of these members."""
    try:
        found = _members(frozenset(names)).decode(body)
    except ValueError:  # also a name that is no UTF-8
        return False
    except (RecursionError, UnicodeDecodeError):
        return True  # too deep, or a key that is not UTF-8: validation says so
    return any(value is not msgspec.UNSET for value in msgspec.structs.astuple(found))


@functools.lru_cache(maxsize=8)
def _members(names: frozenset[str]) -> msgspec.json.Decoder[Any]:
    """Return what keeps these members of an object alone, so that a hostile body costs no memory."""
    named = {f"f{n}": name for n, name in enumerate(sorted(names))}
    fields = [(field, msgspec.Raw, msgspec.UNSET) for field in named]
    return msgspec.json.Decoder(msgspec.defstruct("Members", fields, rename=named))


class Pages:
    """Remembers, by hash, for which id each body was returned."""

    def __init__(self) -> None:
        self._subjects: dict[bytes, Hashable] = {}
        self._documents: dict[tuple[str, int], Hashable] = {}

    def other_subject(self, subject: Hashable, kind: str, document: bytes) -> Hashable:
        """Return for which other subject of the kind this document was returned first; None if for no other."""
        if len(self._documents) >= _MOST:
            self._documents.clear()
        # Python's own hash is enough: two documents that share one by chance cost a few more requests.
        first = self._documents.setdefault((kind, hash(document)), subject)
        return None if first == subject else first

    def origin(self, subject: Hashable, body: bytes) -> BodyOrigin:
        """Return the origin of an unparsable body, as far as it is known, and remember the body."""
        key = hashlib.sha256(body).digest()
        if key not in self._subjects:
            if len(self._subjects) >= _MOST:
                self._subjects.clear()
            self._subjects[key] = subject
            return BodyOrigin.UNKNOWN
        if self._subjects[key] == subject:
            return BodyOrigin.DOCUMENT
        self._subjects[key] = None  # no document's, from now on
        return BodyOrigin.PAGE
