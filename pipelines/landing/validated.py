"""An accepted document."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from decimal import Decimal

EMPTY = b"{}"


def digest(document: bytes) -> bytes:
    """Return the SHA-256 of a canonical document, by which it is known."""
    return hashlib.sha256(document).digest()


class ValidatedDocument(msgspec.Struct, gc=False):
    """An accepted document: canonical bytes without personal data, values to encrypt, and counts and sums."""

    id: int
    document: bytes
    sha256: bytes
    content: bytes  # a JSON object, pointer → value, for the vault
    phone: str | None
    email: str | None
    missing_fields: list[str]
    rounded_count: int
    counts: tuple[int, ...]
    sums: tuple[Decimal, ...]
