"""The work list: which ids to fetch, why, and when they are due.

Every method is one or more short transactions and can be repeated after a kill. Times are arguments or come from the
injected clock. Knows nothing of HTTP or documents.
"""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import msgspec

from pipelines.inbox.entries import FROM_JSON, FROM_RANGE, INT64, UPSERT, Entry, reason_bit
from pipelines.inbox.store import connect, micros, moment, transaction
from pipelines.settings.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from pipelines.inbox.entries import State
    from pipelines.settings.kinds import Kind

# A 404 may only be early: the id is requested again after each of these, counted from the last 404, then given up.
NOT_FOUND_RETRIES = (timedelta(minutes=1), timedelta(minutes=10), timedelta(minutes=60))

GAP_PROBE = "gap probe"

_ADDED = 2_000  # ids per transaction: it bounds how long other writers wait, above all the webhook receiver
_CHANGED = 500
_SORTED = 1_000_000  # ids in memory

# Whether there is a notification that the finished fetch does not cover. Without `started`, `at` counts as its start.
_LATER = "(case when covered is null then notified_at > :at else notifications > covered end)"


class WorkList:
    """The work list in the SQLite file at `path`; several processes may have it open."""

    def __init__(self, path: Path, *, clock: Callable[[], datetime] | None = None) -> None:
        self._clock = clock or (lambda: datetime.now(UTC))
        self._lock = threading.RLock()
        self._connection = connect(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    # -- what to fetch ----------------------------------------------------------------------------

    def add(
        self,
        kind: Kind,
        ids: Iterable[int],
        why: str,
        due_at: datetime | None = None,
        *,
        unless_done_since: datetime | None = None,
    ) -> int:
        """Put ids on the list, due now or at `due_at`, and return how many were given.

        An id has one entry: its reasons are merged, the earliest due time wins, and a dead letter or an id given up
        becomes due again. An id added while its fetch is in flight becomes due again when that fetch is done.
        `unless_done_since` skips ids fetched since then, so that a repeated request resumes a killed run.
        """
        now = micros(self._clock())
        values = {
            "kind": _known(kind),
            "why": self._bit(why),
            "now": now,
            "due": now if due_at is None else micros(due_at),
            "since": None if unless_done_since is None else micros(unless_done_since),
        }
        given = 0
        if isinstance(ids, range) and ids.step == 1:
            if ids and (ids[0] not in INT64 or ids[-1] not in INT64):
                raise ValueError("a range goes beyond 64-bit integers")
            statement = UPSERT.format(ids=FROM_RANGE)
            for part in _parts(ids):
                self._write(statement, {**values, "first": part[0], "last": part[-1]})
                given += len(part)
            return given
        statement = UPSERT.format(ids=FROM_JSON)
        for chunk in _chunks(ids, _ADDED):
            self._write(statement, {**values, "ids": msgspec.json.encode(chunk).decode()})
            given += len(chunk)
        return given

    def due(self, kind: Kind, now: datetime | None = None, limit: int | None = None) -> list[int]:
        """Return the ids due, longest due first; an interrupted fetch is due too."""
        rows = self._read(
            "select id from entries where kind = ? and due_at <= ? order by due_at, id limit ?",
            (_known(kind), micros(now or self._clock()), -1 if limit is None else limit),
        )
        return [row[0] for row in rows]

    def due_batches(self, kind: Kind, now: datetime | None = None, size: int = 1_000) -> Iterator[list[int]]:
        """Yield the ids due at `now` in batches, each id once, with one batch in memory."""
        before = micros(now or self._clock())
        after = (INT64[0], INT64[0])
        while True:
            rows = self._read(
                "select due_at, id from entries where kind = ? and due_at <= ? "
                "and (due_at, id) > (?, ?) order by due_at, id limit ?",
                (_known(kind), before, *after, size),
            )
            if not rows:
                return
            yield [row[1] for row in rows]
            after = rows[-1]

    # -- results of fetches ------------------------------------------------------------------------

    def started(self, kind: Kind, ids: Iterable[int], at: datetime | None = None) -> None:
        """Record that the fetch of these ids begins: it covers the notifications so far."""
        self._change(
            "update entries set state = 'started', covered = notifications, attempts = attempts + 1, "
            "last_attempt_at = :at where",
            kind, ids, at,
        )  # fmt: skip

    def done(self, kind: Kind, ids: Iterable[int], at: datetime | None = None) -> None:
        """Record that these ids were fetched and landed; one with a later notification stays due."""
        self._change(
            f"update entries set state = iif({_LATER}, 'waiting', 'done'), "
            f"due_at = iif({_LATER}, notified_at, null), "
            "finished_at = :at, misses = 0, reason = null, covered = null, "
            "last_attempt_at = coalesce(last_attempt_at, :at) where",
            kind, ids, at,
        )  # fmt: skip

    def not_found(self, kind: Kind, ids: Iterable[int], at: datetime | None = None) -> None:
        """Record a 404: due again after 1, 10 and 60 minutes, then given up until a new notification.

        An id that only the gap probe requested is given up at once: nothing says that it exists.
        """
        again = " ".join(
            f"when {n} then :at + {wait // timedelta(microseconds=1)}" for n, wait in enumerate(NOT_FOUND_RETRIES)
        )
        probe = f"(select 1 << no from reasons where name = '{GAP_PROBE}')"
        waits = f"(misses < {len(NOT_FOUND_RETRIES)} and why is not {probe})"
        self._change(
            f"update entries set state = iif({_LATER} or {waits}, 'waiting', 'given_up'), "
            f"due_at = iif({_LATER}, notified_at, iif({waits}, case misses {again} end, null)), "
            f"misses = iif({_LATER}, 0, misses + 1), finished_at = :at, covered = null, "
            "last_attempt_at = coalesce(last_attempt_at, :at) where",
            kind, ids, at,
        )  # fmt: skip

    def failed(self, kind: Kind, id: int, reason: str, at: datetime | None = None) -> None:  # noqa: A002
        """Make an id a dead letter, with the reason; one with a later notification stays due."""
        self._change(
            f"update entries set state = iif({_LATER}, 'waiting', 'dead'), "
            f"due_at = iif({_LATER}, notified_at, null), "
            "finished_at = :at, reason = :reason, covered = null, "
            "last_attempt_at = coalesce(last_attempt_at, :at) where",
            kind, (id,), at, reason=reason,
        )  # fmt: skip

    def retry(self, kind: Kind | None = None) -> list[Entry]:
        """Make the dead letters due now, and return them as they were."""
        letters = self.dead_letters(kind)
        for letter_kind in KINDS if kind is None else (kind,):
            self.add(letter_kind, [letter.id for letter in letters if letter.kind == letter_kind], "retry")
        return letters

    def prune(self, before: datetime) -> int:
        """Delete the entries that were done before then and return how many."""
        limit = micros(before)
        with self._lock, transaction(self._connection) as connection:
            query = "delete from entries where state = 'done' and finished_at < ?"
            return connection.execute(query, (limit,)).rowcount

    # -- queries -------------------------------------------------------------------------------------

    def dead_letters(self, kind: Kind | None = None) -> list[Entry]:
        """Return the dead letters by kind and id."""
        return self._entries("state = 'dead' and (:kind is null or kind = :kind)", {"kind": kind})

    def entry(self, kind: Kind, id: int) -> Entry | None:  # noqa: A002
        """Return the entry of an id, or None if it was never added."""
        found = self._entries("kind = :kind and id = :id", {"kind": _known(kind), "id": id})
        return found[0] if found else None

    def counts(self) -> dict[str, dict[str, int]]:
        """Return the number of entries by kind and state."""
        counted: dict[str, dict[str, int]] = {}
        for kind, state, number in self._read(
            "select kind, state, count(*) from entries group by kind, state order by kind, state"
        ):
            counted.setdefault(kind, {})[state] = number
        return counted

    def ids_in(self, kind: Kind, state: State, why: str | None = None, since: datetime | None = None) -> list[int]:
        """Return the ids in a state; if given, only those with reason `why` and those finished since then."""
        rows = self._read(
            "select id from entries where kind = :kind and state = :state "
            "and (:since is null or finished_at >= :since) "
            "and (:why is null or why & (select 1 << no from reasons where name = :why)) order by id",
            {"kind": _known(kind), "state": state, "why": why, "since": None if since is None else micros(since)},
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

    # -- inside -----------------------------------------------------------------------------------

    def _entries(self, where: str, values: dict[str, Any]) -> list[Entry]:
        names = dict(self._read("select no, name from reasons"))
        rows = self._read(
            "select kind, id, state, why, added_at, due_at, last_attempt_at, finished_at, attempts, "
            f"misses, reason from entries where {where} order by kind, id",
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

    def _bit(self, why: str) -> int:
        with self._lock, transaction(self._connection) as connection:
            return reason_bit(connection, why)

    def _change(self, update: str, kind: Kind, ids: Iterable[int], at: datetime | None, **more: str) -> None:
        values: dict[str, Any] = {
            "kind": _known(kind),
            "at": micros(at or self._clock()),
            **more,
        }
        for chunk in _chunks(ids, _CHANGED):
            self._write(
                # The plus keeps SQLite from scanning everything that is due: the ids are few.
                f"{update} +due_at is not null and kind = :kind and id in ({FROM_JSON})",
                {**values, "ids": msgspec.json.encode(chunk).decode()},
            )

    def _write(self, statement: str, values: dict[str, Any]) -> None:
        with self._lock, transaction(self._connection) as connection:
            connection.execute(statement, values)

    def _read(self, query: str, values: Any = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(query, values).fetchall()


def _known(kind: Kind) -> Kind:
    if kind not in KINDS:
        raise ValueError(f"{kind!r} is not a kind of document; use one of {', '.join(KINDS)}")
    return kind


def _chunks(ids: Iterable[int], size: int) -> Iterator[list[int]]:
    # Sorted a million at a time: neighbours share pages of the file, and memory stays bounded.
    given = iter(ids)
    while taken := list(islice(given, _SORTED)):
        if any(type(id_) is not int or id_ not in INT64 for id_ in taken):
            raise ValueError("an id is not a 64-bit integer")
        taken.sort()
        for first in range(0, len(taken), size):
            yield taken[first : first + size]


def _parts(ids: range) -> Iterator[range]:
    for first in range(0, len(ids), _ADDED):
        yield ids[first : first + _ADDED]
