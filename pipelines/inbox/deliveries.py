"""Verify deliveries, decode what they name, and keep it: signature and age, then topic, id and delivery id.

Takes nothing else from a body: its content is never trusted, the document is fetched. With a signature configured the
id comes from the body alone, which is what was signed. A signature is compared in constant time. Bodies are not kept
here: an undecodable one is in the vault under its reference, and is decoded again after settings were corrected.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from standardwebhooks import Webhook, WebhookVerificationError

from pipelines.inbox.store import EPOCH, IDS, INT64, add_notified, connect, micros, reason_bit, transaction
from pipelines.literals import unmarked
from pipelines.partner.pointer import UNREADABLE, is_json, parse, raw_at
from pipelines.settings import SettingsError
from pipelines.settings.kinds import ENTITIES, KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

    from pipelines.settings import WebhookSettings
    from pipelines.settings.kinds import Kind

    Verify = Callable[[Mapping[bytes, bytes], bytes, float], bool]

# The topics of interface section 6.
TOPICS: dict[str, Kind] = {**{f"{kind}.update": kind for kind in KINDS}, "orders.create": "orders"}
# Texts that the inbox may store: anything else could be personal data, such as a name or a telephone number.
_TOPIC = re.compile(r"[a-z_]{1,40}([.:/-][a-z_]{1,40}){1,3}", re.ASCII)
_DELIVERY_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}", re.ASCII)
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}", re.ASCII)
_NOTHING = object()
_HEADER = "header:"


@dataclass(frozen=True, slots=True)
class Notification:
    """The content of a delivery. `undecodable` is None, or why it names no id; then there is nothing to fetch."""

    topic: str | None
    kind: Kind | None
    id: int | None
    delivery_id: str | None
    undecodable: str | None


class Decoder:
    """Decodes deliveries as [webhooks] describes them; create one and reuse it."""

    def __init__(self, settings: WebhookSettings) -> None:
        is_signed = settings.signature != "none"  # then anybody may have written the headers
        own_topic = is_signed and not settings.allow_unsigned_topic
        self._topic = [_location(text) for text in settings.topic_locations if not (own_topic and _is_header(text))]
        self._delivery = [_location(text) for text in settings.delivery_id_locations]
        ids = [text for text in settings.id_locations if not (is_signed and _is_header(text))]
        self._ids = {kind: [_location(text.replace("{kind}", ENTITIES[kind])) for text in ids] for kind in KINDS}

    def decode(self, headers: Mapping[bytes, bytes], body: bytes) -> Notification:
        """Return the content of a delivery; names in `headers` are in lower case. Raise nothing, whatever the bytes."""
        body = unmarked(body)
        topic, kind = self._find_topic(headers, body)
        delivery_id = self._find_delivery(headers, body)
        out_of_range = False
        if kind is not None:
            for location in self._ids[kind]:
                id_ = _as_id(_value_at(location, headers, body))
                if id_ is not None and id_ in IDS:
                    return Notification(topic, kind, id_, delivery_id, None)
                out_of_range |= id_ is not None
            reason = "no id found" if is_json(body) else "no id found: the body is not JSON"
            reason = "id_out_of_range" if out_of_range else reason
        elif topic is not None:
            reason = "unknown topic"
        else:
            reason = "no topic found" if is_json(body) else "no topic found: the body is not JSON"
        return Notification(topic, kind, None, delivery_id, reason)

    def _find_topic(self, headers: Mapping[bytes, bytes], body: bytes) -> tuple[str | None, Kind | None]:
        unknown = None
        for location in self._topic:
            found = _value_at(location, headers, body)
            if isinstance(found, str):
                if found in TOPICS:
                    return found, TOPICS[found]
                if unknown is None and _TOPIC.fullmatch(found):
                    unknown = found
        return unknown, None

    def _find_delivery(self, headers: Mapping[bytes, bytes], body: bytes) -> str | None:
        for location in self._delivery:
            found = _value_at(location, headers, body)
            if type(found) is int and found in INT64:
                return str(found)
            if isinstance(found, str) and _DELIVERY_ID.fullmatch(found):
                return found
        return None


def _location(text: str) -> bytes | tuple[str, ...]:
    """Return the name of a header in lower-case bytes, or the tokens of a JSON pointer."""
    return text.removeprefix(_HEADER).lower().encode("ascii") if _is_header(text) else parse(text)


def _is_header(text: str) -> bool:
    return text.startswith(_HEADER)


def _value_at(location: bytes | tuple[str, ...], headers: Mapping[bytes, bytes], body: bytes) -> Any:
    if isinstance(location, bytes):
        found = headers.get(location)
        return _NOTHING if found is None else found.decode("latin-1").strip()
    found = raw_at(body, location)
    if found is None or bytes(memoryview(found)[:1]) in (b"{", b"["):
        return _NOTHING
    try:
        return msgspec.json.decode(found)
    except UNREADABLE:
        return _NOTHING


def _as_id(found: Any) -> int | None:
    """Return an id given as an integer or as its canonical text, else None."""
    if type(found) is str and _INTEGER.fullmatch(found):
        found = int(found)
    return found if type(found) is int and found in INT64 else None


_SECONDS = re.compile(rb"[0-9]{1,12}")
_SHORTEST = 16  # bytes of a secret; shorter ones can be guessed from one signed delivery
_VARIABLE = "ORDERMART_WEBHOOKS__SECRET"


def verifier(settings: WebhookSettings) -> Verify:
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


def _standard(settings: WebhookSettings) -> Verify:
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


def _hmac_sha256(settings: WebhookSettings) -> Verify:
    key = settings.secret.reveal().encode()
    _check_length(key)
    header, clock = settings.signature_header.lower().encode(), settings.timestamp_header.lower().encode()
    prefix = settings.signature_prefix.encode()
    before, after = (part.encode() for part in settings.signing_template.split("{body}"))
    strict_base64 = partial(base64.b64decode, validate=True)
    decode: Callable[[bytes], bytes] = binascii.unhexlify if settings.signature_encoding == "hex" else strict_base64

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


_PAGE = 50_000


@dataclass(frozen=True, slots=True)
class StoredDelivery:
    """One delivery. `undecodable` is why it names no id, `vault_ref` the reference of its body in the vault."""

    seq: int
    received_at: datetime
    topic: str | None
    kind: str | None
    id: int | None
    delivery_id: str | None
    size: int
    undecodable: str | None
    vault_ref: str | None


def undecodable(path: Path) -> list[StoredDelivery]:
    """Return the undecodable deliveries, oldest first."""
    query = (
        "select seq, received_at, topic, kind, id, delivery_id, bytes, undecodable, vault_ref from deliveries "
        "where undecodable is not null order by seq"
    )
    with closing(connect(path)) as connection:
        rows = connection.execute(query).fetchall()
    return [StoredDelivery(seq, EPOCH + timedelta(microseconds=at), *rest) for seq, at, *rest in rows]


def naming_deliveries(path: Path) -> Iterator[list[tuple[int, int, str | None, str, int]]]:
    """Yield number, time in microseconds, topic, kind and id of the deliveries that name an id, a page at a time."""
    after = 0
    query = (
        "select seq, received_at, topic, kind, id from deliveries "
        f"where seq > ? and id is not null order by seq limit {_PAGE}"
    )
    with closing(connect(path)) as connection:
        while rows := connection.execute(query, (after,)).fetchall():
            yield rows
            after = rows[-1][0]


def span(path: Path) -> tuple[int, int]:
    """Return the numbers of the first and the last retained delivery, 0 and 0 if there is none."""
    with closing(connect(path)) as connection:
        row = connection.execute("select coalesce(min(seq), 0), coalesce(max(seq), 0) from deliveries").fetchone()
        return int(row[0]), int(row[1])


def notified_ids(path: Path, kind: Kind) -> set[int]:
    """Return the ids of a kind that a retained delivery has named."""
    with closing(connect(path)) as connection:
        rows = connection.execute("select distinct id from deliveries where kind = ? and id is not null", (kind,))
        return {row[0] for row in rows}


def prune_deliveries(path: Path, before: datetime) -> int:
    """Delete deliveries received before then and return how many; the work list keeps the ids they named."""
    with closing(connect(path)) as connection, transaction(connection):
        return connection.execute("delete from deliveries where received_at < ?", (micros(before),)).rowcount


_END = b"\r\n"


def serialized(headers: Mapping[bytes, bytes], body: bytes) -> bytes:
    """Return a delivery as it is encrypted: header lines, an empty line, the body."""
    lines = [name + b": " + value + _END for name, value in headers.items()]
    return b"".join(lines) + _END + body


def deserialized(content: bytes) -> tuple[dict[bytes, bytes], bytes]:
    """Return the headers and the body that `serialized` packed."""
    if content.startswith(_END):
        return {}, content[len(_END) :]
    head, _, body = content.partition(_END + _END)
    return dict(line.split(b": ", 1) for line in head.split(_END)), body


def reprocess_deliveries(
    settings: WebhookSettings, path: Path, decrypt: Callable[[str], bytes | None]
) -> tuple[int, int]:
    """Decode the undecodable deliveries again; return how many now name an id and how many still do not.

    `decrypt` returns the content of a reference, None if it is no longer kept.
    """
    decoder = Decoder(settings)
    decoded = undecoded = 0
    for delivery in undecodable(path):
        content = decrypt(delivery.vault_ref) if delivery.vault_ref else None
        named = None if content is None else decoder.decode(*deserialized(content))
        if named is None or named.kind is None or named.id is None:
            undecoded += 1
            continue
        decoded += 1
        with closing(connect(path)) as connection, transaction(connection):
            connection.execute(
                "update deliveries set topic = ?, kind = ?, id = ?, delivery_id = ?, undecodable = null where seq = ?",
                (named.topic, named.kind, named.id, named.delivery_id, delivery.seq),
            )
            add_notified(connection, {named.kind: [named.id]}, reason_bit(connection, "webhook"), 0)
    return decoded, undecoded
