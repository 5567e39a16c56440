"""The work list: which ids to fetch, why, and when they are due.

Knows nothing of HTTP, of documents or of who runs. Times come in as arguments or from the injected
clock. Every method is one or more short transactions, repeatable after a kill.
"""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import msgspec

from pipelines.inbox.entries import FROM_JSON, FROM_RANGE, INT64, KINDS, UPSERT, Entry, reason_bit
from pipelines.inbox.store import connect, micros, moment, transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from pipelines.inbox.entries import Kind, State

# A 404 may only be early: asked again after these, each from the 404 before it, then given up.
MISSING_AGAIN = (timedelta(minutes=1), timedelta(minutes=10), timedelta(minutes=60))

GAP_PROBE = "gap probe"

_ADDED = 2_000  # ids a transaction: other writers, the webhook receiver above all, wait no longer than that takes
_CHANGED = 500
_SORTED = 1_000_000  # ids held at once


# Is there a hint that the finished fetch does not cover? Without `started`, `at` is taken for the
# moment the fetch began.
_LATER = "(case when covers is null then hinted_at > :at else hints > covers end)"


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
        """Close the file; what was committed stays."""
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

        One entry an id: reasons are united, the earliest due time wins, and a dead letter or an id
        given up is taken up again. An id added while its fetch is under way becomes due again when
        that fetch is done. `unless_done_since` leaves alone what was fetched since then: the same
        list given again after a kill goes on where it stopped.
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
        """Return the ids due, longest due first; a fetch that a kill cut short is due too."""
        rows = self._read(
            "select id from entries where kind = ? and due_at <= ? order by due_at, id limit ?",
            (_known(kind), micros(now or self._clock()), -1 if limit is None else limit),
        )
        return [row[0] for row in rows]

    def due_batches(self, kind: Kind, now: datetime | None = None, size: int = 1_000) -> Iterator[list[int]]:
        """Yield the ids due at `now` batch by batch, each once, holding no more than one batch."""
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

    # -- what became of it ------------------------------------------------------------------------

    def started(self, kind: Kind, ids: Iterable[int], at: datetime | None = None) -> None:
        """Note that the fetch of these ids begins: hints up to here are covered by it."""
        self._change(
            "update entries set state = 'started', covers = hints, tries = tries + 1, "
            "last_tried_at = :at where",
            kind, ids, at,
        )  # fmt: skip

    def done(self, kind: Kind, ids: Iterable[int], at: datetime | None = None) -> None:
        """Note that these ids were fetched and landed; one that was hinted meanwhile stays due."""
        self._change(
            f"update entries set state = iif({_LATER}, 'waiting', 'done'), "
            f"due_at = iif({_LATER}, hinted_at, null), "
            "finished_at = :at, misses = 0, reason = null, covers = null, "
            "last_tried_at = coalesce(last_tried_at, :at) where",
            kind, ids, at,
        )  # fmt: skip

    def missing(self, kind: Kind, ids: Iterable[int], at: datetime | None = None) -> None:
        """Note a 404: due again after 1, 10 and 60 minutes, then given up until a new hint.

        An id that only the gap probe asked for is given up at once: nobody said that it exists.
        """
        again = " ".join(
            f"when {n} then :at + {wait // timedelta(microseconds=1)}" for n, wait in enumerate(MISSING_AGAIN)
        )
        waits = (
            f"(misses < {len(MISSING_AGAIN)} and why is not (select 1 << no from reasons where name = '{GAP_PROBE}'))"
        )
        self._change(
            f"update entries set state = iif({_LATER} or {waits}, 'waiting', 'given_up'), "
            f"due_at = iif({_LATER}, hinted_at, iif({waits}, case misses {again} end, null)), "
            f"misses = iif({_LATER}, 0, misses + 1), finished_at = :at, covers = null, "
            "last_tried_at = coalesce(last_tried_at, :at) where",
            kind, ids, at,
        )  # fmt: skip

    def failed(self, kind: Kind, id: int, reason: str, at: datetime | None = None) -> None:  # noqa: A002
        """Make a dead letter of an id, with its reason; one that was hinted meanwhile stays due."""
        self._change(
            f"update entries set state = iif({_LATER}, 'waiting', 'dead'), "
            f"due_at = iif({_LATER}, hinted_at, null), "
            "finished_at = :at, reason = :reason, covers = null, "
            "last_tried_at = coalesce(last_tried_at, :at) where",
            kind, (id,), at, reason=reason,
        )  # fmt: skip

    def retry(self, kind: Kind | None = None) -> list[Entry]:
        """Put the dead letters back, due now, and return what they were."""
        letters = self.dead_letters(kind)
        for one in KINDS if kind is None else (kind,):
            self.add(one, [letter.id for letter in letters if letter.kind == one], "retry")
        return letters

    def prune(self, before: datetime) -> int:
        """Forget what was done before then, nothing else, and return how many entries."""
        limit = micros(before)
        with self._lock, transaction(self._connection) as connection:
            gone = connection.execute("delete from entries where state = 'done' and finished_at < ?", (limit,))
            return gone.rowcount

    # -- what is known ----------------------------------------------------------------------------

    def dead_letters(self, kind: Kind | None = None) -> list[Entry]:
        """Return the dead letters with their reasons, by kind and id."""
        return self._entries("state = 'dead' and (:kind is null or kind = :kind)", {"kind": kind})

    def entry(self, kind: Kind, id: int) -> Entry | None:  # noqa: A002
        """Return what is known of one id, or None when it was never added."""
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
        """Return the ids in a state, only those with reason `why` and those finished since then where given."""
        rows = self._read(
            "select id from entries where kind = :kind and state = :state "
            "and (:since is null or finished_at >= :since) "
            "and (:why is null or why & (select 1 << no from reasons where name = :why)) order by id",
            {"kind": _known(kind), "state": state, "why": why, "since": None if since is None else micros(since)},
        )
        return [row[0] for row in rows]

    def due_counts(self, now: datetime | None = None) -> dict[str, int]:
        """Return the number of ids due at `now` by kind; a kind of which nothing is due is left out."""
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
            "select kind, id, state, why, added_at, due_at, last_tried_at, finished_at, tries, "
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
                # The plus keeps SQLite from walking all that is due: the ids are few.
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
        raise ValueError(f"{kind!r} is no kind: {', '.join(KINDS)}")
    return kind


def _chunks(ids: Iterable[int], size: int) -> Iterator[list[int]]:
    # Sorted by the million: neighbours share pages of the file, and a list of any length fits in memory.
    given = iter(ids)
    while taken := list(islice(given, _SORTED)):
        if any(type(id_) is not int or id_ not in INT64 for id_ in taken):
            raise ValueError("an id is no 64-bit integer")
        taken.sort()
        for first in range(0, len(taken), size):
            yield taken[first : first + size]


def _parts(ids: range) -> Iterator[range]:
    for first in range(0, len(ids), _ADDED):
        yield ids[first : first + _ADDED]
