"""Read again what nobody could read, after settings were put right: sealed deliveries become hints like others.

Knows nothing of the vault but a function that opens a reference.
"""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pipelines.inbox.deliveries import undecodable
from pipelines.inbox.entries import FROM_JSON, UPSERT, reason_bit
from pipelines.inbox.hints import Reader
from pipelines.inbox.store import connect, micros, transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pipelines.settings import Webhooks

_END = b"\r\n"


def as_sent(headers: Mapping[bytes, bytes], body: bytes) -> bytes:
    """Return a delivery as it is sealed: its header lines, an empty line, its body."""
    lines = [name + b": " + value + _END for name, value in headers.items()]
    return b"".join(lines) + _END + body


def parts(sent: bytes) -> tuple[dict[bytes, bytes], bytes]:
    """Return the headers and the body of what `as_sent` made."""
    if sent.startswith(_END):
        return {}, sent[len(_END) :]
    head, _, body = sent.partition(_END + _END)
    return dict(line.split(b": ", 1) for line in head.split(_END)), body


def reprocess_deliveries(settings: Webhooks, path: Path, opened: Callable[[str], bytes | None]) -> tuple[int, int]:
    """Read the sealed undecodable deliveries again; return how many can be read now and how many still cannot.

    `opened` gives what is sealed under a reference, None when it is no longer kept.
    """
    reader, now = Reader(settings), micros(datetime.now(UTC))
    read = unread = 0
    for delivery in undecodable(path):
        sent = opened(delivery.sealed_ref) if delivery.sealed_ref else None
        hint = None if sent is None else reader.read(*parts(sent))
        if hint is None or hint.undecodable is not None:
            unread += 1
            continue
        read += 1
        with closing(connect(path)) as connection, transaction(connection):
            connection.execute(
                "update deliveries set topic = ?, kind = ?, id = ?, delivery_id = ?, undecodable = null where seq = ?",
                (hint.topic, hint.kind, hint.id, hint.delivery_id, delivery.seq),
            )
            values = {"why": reason_bit(connection, "webhook"), "now": now, "due": now, "since": None}
            connection.execute(UPSERT.format(ids=FROM_JSON), {**values, "kind": hint.kind, "ids": f"[{hint.id}]"})
    return read, unread
