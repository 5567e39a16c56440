"""Questions to the work list: ids that are due, that wait and why, and the dead-letter queue.

Changes nothing.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from pipelines.clock import utc_now
from pipelines.inbox.entries import BAD_TOGETHER, Entry
from pipelines.inbox.store import connect, micros, moment
from pipelines.settings.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from pipelines.inbox.entries import State
    from pipelines.settings.kinds import Kind

GAP_PROBE, RANGE, WEBHOOK = "gap probe", "order-id range", "webhook"


class WorkListQueries:
    """The reading half of the work list, in the SQLite file at `path`."""

    def __init__(self, path: Path, *, clock: Callable[[], datetime] | None = None) -> None:
        self._clock = clock or utc_now
        self._lock = threading.RLock()
        self._connection = connect(path)

    def due(self, kind: Kind, now: datetime | None = None, limit: int | None = None) -> list[int]:
        """Return the ids due, longest due first; an interrupted fetch is due too."""
        rows = self._read(
            "select id from entries where kind = ? and due_at <= ? order by due_at, id limit ?",
            (known_kind(kind), micros(now or self._clock()), -1 if limit is None else limit),
        )
        return [row[0] for row in rows]

    def dead_letters(self, kind: Kind | None = None) -> list[Entry]:
        """Return the dead-letter queue by kind and id."""
        return self._entries("state = 'dead' and (:kind is null or kind = :kind)", {"kind": kind})

    def entry(self, kind: Kind, id: int) -> Entry | None:  # noqa: A002
        """Return the entry of an id, or None if it was never added."""
        found = self._entries("kind = :kind and id = :id", {"kind": known_kind(kind), "id": id})
        return found[0] if found else None

    def counts(self) -> dict[str, dict[str, int]]:
        """Return the number of entries by kind and state."""
        counted: dict[str, dict[str, int]] = {}
        for kind, state, number in self._read(
            "select kind, state, count(*) from entries group by kind, state order by kind, state"
        ):
            counted.setdefault(kind, {})[state] = number
        return counted

    def ids_in(self, kind: Kind, state: State, since: datetime | None = None) -> list[int]:
        """Return the ids in a state; if given, only those finished since then."""
        rows = self._read(
            "select id from entries where kind = :kind and state = :state "
            "and (:since is null or finished_at >= :since) order by id",
            {"kind": known_kind(kind), "state": state, "since": None if since is None else micros(since)},
        )
        return [row[0] for row in rows]

    def due_counts(self, now: datetime | None = None) -> dict[str, int]:
        """Return the number of ids due at `now` by kind, without kinds that have none."""
        return dict(
            self._read(
                "select kind, count(*) from entries where due_at <= ? group by kind order by kind",
                (micros(now or self._clock()),),
            )
        )

    def rejected_counts(self) -> dict[str, int]:
        """Return by kind how many ids wait because their response was rejected."""
        query = "select kind, count(*) from entries where rejections > 0 and due_at is not null group by kind"
        return dict(self._read(f"{query} order by kind"))

    def bad_before(self, kind: Kind, now: datetime | None = None) -> int:
        """Return how many ids were bad together with most others and are not due: they wait, or wait no more."""
        query = (
            "select count(*) from entries "
            f"where kind = ? and reason like '{BAD_TOGETHER}%' and (due_at > ? or state = 'dead')"
        )
        number: int = self._read(query, (known_kind(kind), micros(now or self._clock())))[0][0]
        return number

    def judged(self, kind: Kind, now: datetime | None = None) -> set[int]:
        """Return the due ids whose answers say how the service does.

        Not those that only the gap probe or a range of ids names, which may not exist; nor ids that are requested again
        because it alone was bad. A webhook may come before its document can be read: of ids only it named, the second
        request counts.
        """
        rows = self._read(
            """
            with bits as (
                select
                    coalesce(sum(1 << no) filter (where name in (:probe, :range)), 0) as guessed,
                    coalesce(max(1 << no) filter (where name = :webhook), 0) as webhook
                from reasons
            )
            select id from entries, bits
            where
                kind = :kind and due_at <= :now and why & ~bits.guessed <> 0 and misses >= (why = bits.webhook)
                and (reason like :together or (rejections = 0 and misses <= (why = bits.webhook)))
            """,
            {
                "together": f"{BAD_TOGETHER}%",
                "kind": known_kind(kind),
                "now": micros(now or self._clock()),
                "probe": GAP_PROBE,
                "range": RANGE,
                "webhook": WEBHOOK,
            },
        )
        return {row[0] for row in rows}

    def _entries(self, where: str, values: dict[str, Any]) -> list[Entry]:
        names = dict(self._read("select no, name from reasons"))
        rows = self._read(
            "select kind, id, state, why, added_at, due_at, last_attempt_at, finished_at, attempts, "
            f"misses, reason, rejections from entries where {where} order by kind, id",
            values,
        )
        return [
            Entry(
                row[0], row[1], row[2],
                frozenset(name for no, name in names.items() if row[3] >> no & 1),
                *(moment(at) for at in row[4:8]),  # type: ignore[arg-type]
                *row[8:],
            )
            for row in rows
        ]  # fmt: skip

    def _read(self, query: str, values: Any = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(query, values).fetchall()


def known_kind(kind: Kind) -> Kind:
    """Return the kind; raise ValueError if there is no such kind."""
    if kind not in KINDS:
        raise ValueError(f"{kind!r} is not a kind of document; use one of {', '.join(KINDS)}")
    return kind
