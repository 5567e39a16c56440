"""Find a customer by phone or e-mail without storing either: keyed hashes of normalised forms."""

from __future__ import annotations

import hashlib
import hmac
import re

HASH_BYTES = 16
_REMEMBERED = 20_000  # customers return; the cache is in memory only
_NOT_DIGITS = re.compile(r"[^0-9]+")


def normal_phone(text: str | None) -> str:
    """Return the digits of a phone number, a leading + kept; "" if there are none."""
    if not text:
        return ""
    digits = _NOT_DIGITS.sub("", text)
    if not digits:
        return ""
    return "+" + digits if text.lstrip().startswith("+") else digits


def normal_email(text: str | None) -> str:
    """Return an e-mail address stripped and case-folded; "" if there is none."""
    return text.strip().casefold() if text else ""


class Lookup:
    """Compute the keyed hashes that identify customers: HMAC-SHA256, truncated to 128 bits."""

    def __init__(self, secret: bytes) -> None:
        self._keyed = hmac.new(secret, digestmod="sha256")  # its inner states are computed once, and copied
        self._phones: dict[str, bytes] = {}
        self._emails: dict[str, bytes] = {}
        self._digest_key = hmac.digest(secret, b"digest of sealed content", "sha256")  # stored name
        self.check = hmac.digest(secret, b"check of the lookup secret", "sha256")

    def hash(self, text: bytes) -> bytes:
        """Return HMAC-SHA256 of `text`, truncated to 16 bytes."""
        found = self._keyed.copy()
        found.update(text)
        return found.digest()[:HASH_BYTES]

    def phone(self, text: str) -> bytes:
        """Return the hash of a phone number; b"" if it has no digits."""
        known = self._phones.get(text)
        if known is None:
            normal = normal_phone(text)
            known = self.hash(b"phone:" + normal.encode()) if normal else b""
            _remember(self._phones, text, known)
        return known

    def email(self, text: str) -> bytes:
        """Return the hash of an e-mail address; b"" if it is blank."""
        known = self._emails.get(text)
        if known is None:
            normal = normal_email(text)
            known = self.hash(b"email:" + normal.encode()) if normal else b""
            _remember(self._emails, text, known)
        return known

    def digest(self, content: bytes) -> bytes:
        """Return a keyed digest, which differs if the content changed."""
        return hashlib.blake2b(content, digest_size=HASH_BYTES, key=self._digest_key).digest()


def _remember(cache: dict[str, bytes], text: str, known: bytes) -> None:
    if len(cache) >= _REMEMBERED:
        cache.clear()
    cache[text] = known
