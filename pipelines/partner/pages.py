"""Distinguish a maintenance page, the same for every id, from a document that is itself broken.

Knows nothing of HTTP.
"""

from __future__ import annotations

import enum
import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

_MOST = 1_000  # bodies remembered; then the memory is cleared


class BodyOrigin(enum.Enum):
    """Where an unparsable body comes from."""

    UNKNOWN = enum.auto()  # seen for the first time
    DOCUMENT = enum.auto()  # the same again for the same id: this is what the service has
    PAGE = enum.auto()  # the same for different ids: not a document


class Pages:
    """Remembers, by hash, for which id each unparsable body was returned."""

    def __init__(self) -> None:
        self._subjects: dict[bytes, Hashable] = {}

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
