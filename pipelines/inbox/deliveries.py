"""Query and prune stored deliveries, and decode undecodable ones again after settings were corrected.

Bodies are not here: an undecodable one is in the vault under its reference.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.clock import utc_now
from pipelines.inbox.notifications import Decoder
from pipelines.inbox.store import FROM_JSON, connect, micros, moment, reason_bit, transaction, upsert

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

    from pipelines.settings import Webhooks
    from pipelines.settings.kinds import Kind


_PAGE = 10_000


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


def deliveries(path: Path, after: int = 0, *, only_undecodable: bool = False) -> Iterator[StoredDelivery]:
    """Yield the deliveries of the inbox at `path` after number `after`, in the order of their commits."""
    query = (
        "select seq, received_at, topic, kind, id, delivery_id, bytes, undecodable, vault_ref from deliveries "
        f"where seq > ? {'and undecodable is not null' if only_undecodable else ''} order by seq limit {_PAGE}"
    )
    with closing(connect(path)) as connection:
        while rows := connection.execute(query, (after,)).fetchall():
            for seq, received_at, *rest in rows:
                at = moment(received_at)
                assert at is not None  # noqa: S101 -- the column is not null
                yield StoredDelivery(seq, at, *rest)
            after = rows[-1][0]


def undecodable(path: Path) -> list[StoredDelivery]:
    """Return the undecodable deliveries, oldest first."""
    return list(deliveries(path, only_undecodable=True))


def last_delivery(path: Path) -> int:
    """Return the number of the last delivery, 0 if there is none."""
    with closing(connect(path)) as connection:
        found: int = connection.execute("select coalesce(max(seq), 0) from deliveries").fetchone()[0]
        return found


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
