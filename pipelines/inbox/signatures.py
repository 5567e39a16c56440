"""Verify that a delivery was signed with the secret, and recently.

Compares in constant time and returns only true or false.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from typing import TYPE_CHECKING

from standardwebhooks import Webhook, WebhookVerificationError

from pipelines.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pipelines.settings import Webhooks

    Verify = Callable[[Mapping[bytes, bytes], bytes, float], bool]

_SECONDS = re.compile(rb"[0-9]{1,12}")
_SHORTEST = 16  # bytes of a secret; shorter ones can be guessed from one signed delivery
_VARIABLE = "ORDERMART_WEBHOOKS__SECRET"


def verifier(settings: Webhooks) -> Verify:
    """Return the function that verifies a delivery by its headers (names in lower case), body and time of receipt.

    Raise SettingsError if a signature is configured and its secret is missing or unusable.
    """
    if settings.signature == "none":
        return lambda _headers, _body, _now: True
    if not settings.secret:
        raise SettingsError(f'[webhooks] signature = "{settings.signature}" needs a secret: set {_VARIABLE}')
    if settings.signature == "standard_webhooks":
        return _standard(settings)
    return _hmac_sha256(settings)


def _standard(settings: Webhooks) -> Verify:
    try:
        webhook = Webhook(settings.secret.reveal())
        key = base64.b64decode(settings.secret.reveal().removeprefix("whsec_"))
    except Exception:  # noqa: BLE001 -- the library's errors may quote the secret
        raise SettingsError(f"{_VARIABLE}: not a Standard Webhooks secret; use whsec_ followed by base64") from None
    _check_length(key)
    tolerance = settings.tolerance_seconds

    def verify(headers: Mapping[bytes, bytes], body: bytes, now: float) -> bool:
        sent = headers.get(b"webhook-timestamp", b"")
        if not _SECONDS.fullmatch(sent) or abs(now - int(sent)) > tolerance:
            return False
        named = ("webhook-id", "webhook-timestamp", "webhook-signature")
        try:
            given = {name: headers[name.encode()].decode("ascii") for name in named}
            webhook.verify(body, given, json_parse=False)
        except (KeyError, ValueError, WebhookVerificationError):
            return False
        return True

    return verify


def _hmac_sha256(settings: Webhooks) -> Verify:
    key = settings.secret.reveal().encode()
    _check_length(key)
    header, clock = settings.signature_header.lower().encode(), settings.timestamp_header.lower().encode()
    prefix = settings.signature_prefix.encode()
    before, after = (part.encode() for part in settings.signing_template.split("{body}"))
    decode: Callable[[bytes], bytes] = binascii.unhexlify if settings.signature_encoding == "hex" else _strict_base64

    def verify(headers: Mapping[bytes, bytes], body: bytes, now: float) -> bool:
        given = headers.get(header, b"").strip()
        sent = headers.get(clock, b"") if clock else b""
        is_recent = not clock or (bool(_SECONDS.fullmatch(sent)) and abs(now - int(sent)) <= settings.tolerance_seconds)
        signed = before.replace(b"{timestamp}", sent), body, after.replace(b"{timestamp}", sent)
        expected = hmac.new(key, b"".join(signed), hashlib.sha256).digest()
        try:
            signature = decode(given.removeprefix(prefix))
        except ValueError:
            signature = b""
        # one way through: the time taken does not tell what was wrong
        return hmac.compare_digest(expected, signature) & given.startswith(prefix) & is_recent

    return verify


def _check_length(key: bytes) -> None:
    if len(key) < _SHORTEST:
        raise SettingsError(f"{_VARIABLE}: must have at least {_SHORTEST} bytes, so that nobody can guess it")


def _strict_base64(text: bytes) -> bytes:
    return base64.b64decode(text, validate=True)
