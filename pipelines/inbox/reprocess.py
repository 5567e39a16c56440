"""Decode undecodable deliveries again, after settings were corrected.

Knows of the vault only a function that decrypts a reference.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pipelines.clock import utc_now
from pipelines.inbox.deliveries import undecodable
from pipelines.inbox.entries import FROM_JSON, reason_bit, upsert
from pipelines.inbox.notifications import Decoder
from pipelines.inbox.store import connect, micros, transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pipelines.settings import Webhooks

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


def reprocess_deliveries(settings: Webhooks, path: Path, decrypt: Callable[[str], bytes | None]) -> tuple[int, int]:
    """Decode the undecodable deliveries again; return how many now name an id and how many still do not.

    `decrypt` returns the content of a reference, None if it is no longer kept.
    """
    decoder, now = Decoder(settings), micros(utc_now())
    decoded = undecoded = 0
    for delivery in undecodable(path):
        content = decrypt(delivery.vault_ref) if delivery.vault_ref else None
        named = None if content is None else decoder.decode(*deserialized(content))
        if named is None or named.undecodable is not None:
            undecoded += 1
            continue
        decoded += 1
        with closing(connect(path)) as connection, transaction(connection):
            connection.execute(
                "update deliveries set topic = ?, kind = ?, id = ?, delivery_id = ?, undecodable = null where seq = ?",
                (named.topic, named.kind, named.id, named.delivery_id, delivery.seq),
            )
            values = {"why": reason_bit(connection, "webhook"), "now": now, "due": now, "since": None, "interval": 0}
            connection.execute(upsert(FROM_JSON), {**values, "kind": named.kind, "ids": f"[{named.id}]"})
    return decoded, undecoded
