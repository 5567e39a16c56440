"""Tell a page that the service shows to everybody from a document that is broken for good.

Knows nothing of HTTP: it is told whose body it was.
"""

from __future__ import annotations

import enum
import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

_MOST = 1_000  # bodies remembered: beyond, memory begins anew


class Told(enum.Enum):
    """What a body that nobody can read tells of the service."""

    NOTHING_YET = enum.auto()  # seen for the first time
    ITS_OWN = enum.auto()  # the same again for the same id: this is what the service has
    A_PAGE = enum.auto()  # the same for different ids: no document's


class Pages:
    """Remembers, by hash, for whom each unreadable body came."""

    def __init__(self) -> None:
        self._whose: dict[bytes, Hashable] = {}

    def tell(self, subject: Hashable, body: bytes) -> Told:
        """Say what one more unreadable body tells."""
        key = hashlib.sha256(body).digest()
        if key not in self._whose:
            if len(self._whose) >= _MOST:
                self._whose.clear()
            self._whose[key] = subject
            return Told.NOTHING_YET
        if self._whose[key] == subject:
            return Told.ITS_OWN
        self._whose[key] = None  # nobody's, from now on
        return Told.A_PAGE
