"""Issue and check access tokens in the JWT form (RFC 7519), signed with HMAC-SHA256."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _raw(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Tokens:
    """Tokens of one secret, each good for `life_seconds` from its issue."""

    def __init__(self, secret: bytes, life_seconds: int = 3600, now: Callable[[], float] = time.time) -> None:
        self.life_seconds = life_seconds
        self._secret = secret
        self._now = now
        self._serial = 0
        self._revoked = 0
        self._known: dict[str, float] = {}

    def issue(self, subject: str) -> str:
        """Return a new token; no two are equal."""
        self._serial += 1
        issued = int(self._now())
        head = {"alg": "HS256", "typ": "JWT"}
        claims = {"sub": subject, "iat": issued, "exp": issued + self.life_seconds, "jti": str(self._serial)}
        signed = ".".join(_text(json.dumps(part, separators=(",", ":")).encode()) for part in (head, claims))
        return f"{signed}.{_text(self._sign(signed))}"

    def valid(self, token: str) -> bool:
        """Tell whether the token is ours and has not expired."""
        expires = self._known.get(token)
        if expires is None:
            expires = self._expiry(token)
            if expires is None:
                return False
            self._known[token] = expires
        return self._now() < expires

    def revoke(self) -> None:
        """Refuse every token issued so far."""
        self._revoked = self._serial
        self._known.clear()

    def _sign(self, signed: str) -> bytes:
        return hmac.new(self._secret, signed.encode(), hashlib.sha256).digest()

    def _expiry(self, token: str) -> float | None:
        try:
            signed, _, signature = token.rpartition(".")
            head, _, claims = signed.partition(".")
            if not hmac.compare_digest(self._sign(signed), _raw(signature)):
                return None
            if json.loads(_raw(head)).get("alg") != "HS256":
                return None
            read = json.loads(_raw(claims))
            return float(read["exp"]) if int(read["jti"]) > self._revoked else None
        except (ValueError, KeyError, TypeError, AttributeError, binascii.Error):
            return None
