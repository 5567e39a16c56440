"""Look at stored deliveries: which came, which named an id, which nobody could read.

Knows nothing of how they became durable, and has no bodies to show: a sealed one is in the vault under its reference.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.inbox.store import connect, micros, moment, transaction

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from pipelines.inbox.entries import Kind

_PAGE = 10_000


@dataclass(frozen=True, slots=True)
class StoredDelivery:
    """One delivery. `undecodable` says why it hints at nothing, `sealed_ref` where in the vault its body is."""

    seq: int
    received_at: datetime
    topic: str | None
    kind: str | None
    id: int | None
    delivery_id: str | None
    size: int
    undecodable: str | None
    sealed_ref: str | None


def deliveries(path: Path, after: int = 0, *, only_undecodable: bool = False) -> Iterator[StoredDelivery]:
    """Yield the deliveries of the inbox at `path` that came after number `after`, in the order of their commits."""
    query = (
        "select seq, received_at, topic, kind, id, delivery_id, bytes, undecodable, sealed_ref from deliveries "
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
    """Return the deliveries that nobody could read, oldest first."""
    return list(deliveries(path, only_undecodable=True))


def last_delivery(path: Path) -> int:
    """Return the number of the last delivery, 0 when there was none: a cursor for who waits for more."""
    with closing(connect(path)) as connection:
        found: int = connection.execute("select coalesce(max(seq), 0) from deliveries").fetchone()[0]
        return found


def span(path: Path) -> tuple[int, int]:
    """Return the numbers of the first and the last delivery still remembered, 0 and 0 where there is none."""
    with closing(connect(path)) as connection:
        row = connection.execute("select coalesce(min(seq), 0), coalesce(max(seq), 0) from deliveries").fetchone()
        return int(row[0]), int(row[1])


def hinted_ids(path: Path, kind: Kind) -> set[int]:
    """Return the ids of a kind that some delivery still remembered has named."""
    with closing(connect(path)) as connection:
        rows = connection.execute("select distinct id from deliveries where kind = ? and id is not null", (kind,))
        return {row[0] for row in rows}


def forget_deliveries(path: Path, before: datetime) -> int:
    """Forget deliveries received before then, and return how many; the work list keeps what they hinted at."""
    with closing(connect(path)) as connection, transaction(connection):
        return connection.execute("delete from deliveries where received_at < ?", (micros(before),)).rowcount
