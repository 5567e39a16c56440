"""The work list: which ids to fetch, why, and when they are due; questions to it, and the dead-letter queue.

Every method is one or more short transactions and can be repeated after a kill. Times are arguments or come from the
injected clock.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from pipelines.clock import utc_now
from pipelines.inbox import store
from pipelines.resources import resource
from pipelines.settings.kinds import KINDS, Kind

GAP_PROBE, RANGE, WEBHOOK = "gap probe", "order-id range", "webhook"


# A 404 may only be early: the id is requested again after each of these, counted from the last 404, then given up.
NOT_FOUND_RETRIES = (timedelta(minutes=1), timedelta(minutes=10), timedelta(minutes=60))

# The same after a document that was rejected; the last one is repeated. A little less than whole days, so that a night
# at the same hour finds the id due. An id that is requested every night, such as a young order's, does not wait.
REJECTED_RETRIES = tuple(timedelta(hours=hours) for hours in (1, 6, 20, 44))

# Without a usable response, or when most ids were bad together, by how long the id has failed: in the next night, in
# each of the first three, then every second night, so that one that can be had is not missing for longer than two.
FAILED_RETRIES = ((timedelta(), timedelta(hours=1)), (timedelta(hours=60), timedelta(hours=20)))
FAILED_LATER, FAILED_FOR = timedelta(hours=44), timedelta(days=30)
UNFETCHED_FOR = timedelta(hours=36)  # the third night in which an id fails ends after more than this

_ADDED = 2_000  # ids per transaction: it bounds how long other writers wait, above all the webhook receiver
_CHANGED = 500
_SORTED = 1_000_000  # ids in memory

# Whether there is a notification that the finished fetch does not cover. Without `started`, `at` counts as its start.
# Repeated webhooks make one request a minute.
_DUE = f"max(notified_at, coalesce(last_attempt_at, 0) + {store.INTERVAL})"
_LATER = "(case when covered is null then notified_at > :at else notifications > covered end)"


class WorkList(AbstractContextManager["WorkList"]):
    """The work list in the SQLite file at `path`; several processes may have it open."""

    def __init__(self, path: Path, *, clock: Callable[[], datetime] | None = None) -> None:
        self._clock = clock or utc_now
        self._lock = threading.RLock()
        self._connection = store.connect(path)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

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
        now, kind = store.micros(self._clock()), known_kind(kind)
        with self._lock, store.transaction(self._connection) as connection:
            bit = store.reason_bit(connection, why)
        due = now if due_at is None else store.micros(due_at)
        since = None if unless_done_since is None else store.micros(unless_done_since)
        values = {"kind": kind, "why": bit, "now": now, "due": due, "interval": 0, "since": since}
        given = 0
        if isinstance(ids, range) and ids.step == 1:
            if ids and (ids[0] not in store.INT64 or ids[-1] not in store.INT64):
                raise ValueError("a range goes beyond 64-bit integers")
            statement = store.upsert(store.FROM_RANGE)
            for first in range(0, len(ids), _ADDED):
                part = ids[first : first + _ADDED]
                self._write(statement, {**values, "first": part[0], "last": part[-1]})
                given += len(part)
            return given
        statement = store.upsert(store.FROM_JSON)
        for chunk in _chunks(ids, _ADDED):
            self._write(statement, {**values, "ids": msgspec.json.encode(chunk).decode()})
            given += len(chunk)
        return given

    def started(self, kind: Kind, ids: Iterable[int]) -> None:
        """Record that the fetch of these ids begins: it covers the notifications so far."""
        changes = "state = 'started', covered = notifications, attempts = attempts + 1, last_attempt_at = :at"
        self._change(f"update entries set {changes} where", kind, ids, None)

    def done(self, kind: Kind, ids: Iterable[int], at: datetime | None = None) -> None:
        """Record that these ids were fetched and landed; one with a later notification stays due."""
        self._end(kind, ids, at, "done", "misses = 0, rejections = 0, failing_since = null,")

    def rejected(self, kind: Kind, ids: Iterable[int], reason: str, most: int) -> None:
        """Record that the responses for these ids were rejected: due again later; a dead letter after `most`."""
        wait = " ".join(f"when {n} then {_micros(wait)}" for n, wait in enumerate(REJECTED_RETRIES))
        wait = f":at + case rejections {wait} else {_micros(REJECTED_RETRIES[-1])} end"
        changes = "rejections = rejections + 1, misses = 0, failing_since = null,"
        self._end(kind, ids, None, "dead", changes, reason, f"rejections + 1 < {int(most)}", wait)

    def not_found(self, kind: Kind, ids: Iterable[int], at: datetime | None = None) -> None:
        """Record a 404: due after 1, 10, 60 minutes, then given up; at once if only the gap probe asked for the id."""
        wait = " ".join(f"when {n} then :at + {_micros(wait)}" for n, wait in enumerate(NOT_FOUND_RETRIES))
        probe = f"(select 1 << no from reasons where name = '{GAP_PROBE}')"
        waits = f"misses < {len(NOT_FOUND_RETRIES)} and why is not {probe}"
        changes = f"misses = iif({_LATER}, 0, misses + 1), failing_since = null,"
        self._end(kind, ids, at, "given_up", changes, "", waits, f"case misses {wait} end")

    def failed(self, kind: Kind, ids: Iterable[int], reason: str, at: datetime | None = None) -> None:
        """Record why these ids have no usable response: due again; after 30 days in the dead-letter queue."""
        age = ":at - coalesce(failing_since, :at)"
        waits = " ".join(f"when {age} <= {_micros(until)} then {_micros(wait)}" for until, wait in FAILED_RETRIES)
        wait = f":at + case {waits} else {_micros(FAILED_LATER)} end"
        changes = "failing_since = coalesce(failing_since, :at),"
        self._end(kind, ids, at, "dead", changes, reason, f"{age} < {_micros(FAILED_FOR)}", wait)

    def unfetched(self, kind: Kind) -> list[tuple[int, str]]:
        """Return how many ids have failed for longer than two nights, by their last reason, the most first."""
        select = "select count(*), coalesce(reason, '') from entries where kind = ? and failing_since < ?"
        values = (known_kind(kind), store.micros(self._clock() - UNFETCHED_FOR))
        rows = self._read(f"{select} group by reason order by 1 desc, 2", values)
        return [(number, reason.removeprefix(store.BAD_TOGETHER)) for number, reason in rows]

    def forget(self, kind: Kind | None = None) -> list[store.WorkListEntry]:
        """Remove the dead-letter queue from the list, and return it: nobody asks for these ids any more."""
        letters = self.dead_letters(kind)
        with self._lock, store.transaction(self._connection) as connection:
            connection.execute("delete from entries where state = 'dead' and (? is null or kind = ?)", (kind, kind))
        return letters

    def retry(self, kind: Kind | None = None) -> list[store.WorkListEntry]:
        """Make due now the dead-letter queue and the ids that failed; return their entries as they were."""
        letters = self._entries(
            "(state = 'dead' or failing_since + due_at > 0) and (:kind is null or kind = :kind)", {"kind": kind}
        )
        for letter_kind in KINDS if kind is None else (kind,):
            ids = [letter.id for letter in letters if letter.kind == letter_kind]
            self.add(letter_kind, ids, "retry")
            self._change("update entries set rejections = 0 where", letter_kind, ids, None)
        return letters

    def prune(self, before: datetime) -> int:
        """Delete the entries that were done before then and return how many."""
        query = "delete from entries where state = 'done' and finished_at < ?"
        with self._lock, store.transaction(self._connection) as connection:
            return connection.execute(query, (store.micros(before),)).rowcount

    def due(self, kind: Kind, now: datetime | None = None, limit: int | None = None) -> list[int]:
        """Return the ids due, longest due first; an interrupted fetch is due too."""
        query = "select id from entries where kind = ? and due_at <= ? order by due_at, id limit ?"
        rows = self._read(query, (known_kind(kind), store.micros(now or self._clock()), -1 if limit is None else limit))
        return [row[0] for row in rows]

    def dead_letters(self, kind: Kind | None = None) -> list[store.WorkListEntry]:
        """Return the dead-letter queue by kind and id."""
        return self._entries("state = 'dead' and (:kind is null or kind = :kind)", {"kind": kind})

    def entry(self, kind: Kind, id: int) -> store.WorkListEntry | None:  # noqa: A002
        """Return the entry of an id, or None if it was never added."""
        return next(iter(self._entries("kind = :kind and id = :id", {"kind": known_kind(kind), "id": id})), None)

    def counts(self) -> dict[str, dict[str, int]]:
        """Return the number of entries by kind and state."""
        counted: dict[str, dict[str, int]] = {}
        query = "select kind, state, count(*) from entries group by kind, state order by kind, state"
        for kind, state, number in self._read(query):
            counted.setdefault(kind, {})[state] = number
        return counted

    def ids_in(self, kind: Kind, state: store.State, since: datetime | None = None) -> list[int]:
        """Return the ids in a state; if given, only those finished since then."""
        rows = self._read(
            "select id from entries where kind = :kind and state = :state "
            "and (:since is null or finished_at >= :since) order by id",
            {"kind": known_kind(kind), "state": state, "since": None if since is None else store.micros(since)},
        )
        return [row[0] for row in rows]

    def due_counts(self, now: datetime | None = None) -> dict[str, int]:
        """Return the number of ids due at `now` by kind, without kinds that have none."""
        query = "select kind, count(*) from entries where due_at <= ? group by kind order by kind"
        return dict(self._read(query, (store.micros(now or self._clock()),)))

    def rejected_counts(self) -> dict[str, int]:
        """Return by kind how many ids wait because they failed, or their document was rejected."""
        bad = "due_at is not null and (rejections > 0 or failing_since is not null)"
        return dict(self._read(f"select kind, count(*) from entries where {bad} group by kind order by kind"))

    def latest(self, kind: Kind, limit: int) -> list[int]:
        """Return the ids that were fetched last."""
        query = "select id from entries where kind = ? and state = 'done' order by finished_at desc, id limit ?"
        return [row[0] for row in self._read(query, (known_kind(kind), limit))]

    def failing(self, kind: Kind) -> list[int]:
        """Return the ids that failed and are to be requested again, by id."""
        query = "select id from entries where kind = ? and failing_since is not null and due_at is not null order by id"
        return [row[0] for row in self._read(query, (known_kind(kind),))]

    def bad_before(self, kind: Kind) -> int:
        """Return how many ids were bad together with most others and are not due: they wait, or wait no more."""
        bad = f"kind = ? and reason like '{store.BAD_TOGETHER}%' and (due_at > ? or state = 'dead')"
        where = known_kind(kind), store.micros(self._clock())
        return int(self._read(f"select count(*) from entries where {bad}", where)[0][0])

    def representative_due_ids(self, kind: Kind, now: datetime | None = None) -> set[int]:
        """Return the due ids whose answers say how the service does: see sql/inbox/representative_due_ids.sql."""
        query = (resource("sql") / "inbox" / "representative_due_ids.sql").read_text(encoding="utf-8")
        at, together = store.micros(now or self._clock()), f"{store.BAD_TOGETHER}%"
        values = {"kind": known_kind(kind), "now": at, "together": together}
        rows = self._read(query, {**values, "probe": GAP_PROBE, "range": RANGE, "webhook": WEBHOOK})
        return {row[0] for row in rows}

    def _entries(self, where: str, values: dict[str, Any]) -> list[store.WorkListEntry]:
        names = dict(self._read("select no, name from reasons"))
        select = "select kind, id, state, why, added_at, due_at, last_attempt_at, finished_at, attempts, misses"
        rows = self._read(f"{select}, reason, rejections from entries where {where} order by kind, id", values)
        return [
            store.WorkListEntry(
                row[0], row[1], row[2],
                frozenset(name for no, name in names.items() if row[3] >> no & 1),
                *(store.moment(at) for at in row[4:8]),  # type: ignore[arg-type]
                *row[8:],
            )
            for row in rows
        ]  # fmt: skip

    def _read(self, query: str, values: Any = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(query, values).fetchall()

    def _end(
        self,
        kind: Kind,
        ids: Iterable[int],
        at: datetime | None,
        state: store.State,
        changes: str,
        reason: str = "",
        waits: str = "false",
        wait: str = "null",
    ) -> None:
        """Record the end of a fetch: this state, unless notified later or it `waits` until `wait`; both are SQL."""
        self._change(
            f"update entries set state = iif({_LATER} or ({waits}), 'waiting', '{state}'), "
            f"due_at = iif({_LATER}, {_DUE}, iif({waits}, {wait}, null)), {changes} "
            "finished_at = :at, reason = nullif(:reason, ''), covered = null, "
            "last_attempt_at = coalesce(last_attempt_at, :at) where",
            kind, ids, at, reason=reason,
        )  # fmt: skip

    def _change(self, update: str, kind: Kind, ids: Iterable[int], at: datetime | None, **more: str) -> None:
        values: dict[str, Any] = {"kind": known_kind(kind), "at": store.micros(at or self._clock()), **more}
        for chunk in _chunks(ids, _CHANGED):
            self._write(
                # The plus keeps SQLite from scanning everything that is due: the ids are few.
                f"{update} +due_at is not null and kind = :kind and id in ({store.FROM_JSON})",
                {**values, "ids": msgspec.json.encode(chunk).decode()},
            )

    def _write(self, statement: str, values: dict[str, Any]) -> None:
        with self._lock, store.transaction(self._connection) as connection:
            connection.execute(statement, values)


def known_kind(kind: Kind) -> Kind:
    """Return the kind; raise ValueError if there is no such kind."""
    if kind not in KINDS:
        raise ValueError(f"{kind!r} is not a kind of document; use one of {', '.join(KINDS)}")
    return kind


def due_by_request_reason(path: Path) -> dict[str, dict[str, int]]:
    """Return how many ids of each kind are due for each reason; an id with two reasons counts for both."""
    query = """
        select entries.kind, reasons.name, count(*) from entries
        join reasons on entries.why >> reasons.no & 1
        where entries.due_at <= ? group by 1, 2 order by 1, 2
    """
    found: dict[str, dict[str, int]] = {}
    with closing(store.connect(path)) as connection:
        for kind, reason, number in connection.execute(query, (store.micros(utc_now()),)):
            found.setdefault(kind, {})[reason] = number
    return found


def _micros(wait: timedelta) -> int:
    return wait // timedelta(microseconds=1)


def _chunks(ids: Iterable[int], size: int) -> Iterator[list[int]]:
    # Sorted a million at a time: neighbours share pages of the file, and memory stays bounded.
    given = iter(ids)
    while taken := list(islice(given, _SORTED)):
        if any(type(id_) is not int or id_ not in store.INT64 for id_ in taken):
            raise ValueError("an id is not a 64-bit integer")
        taken.sort()
        yield from (taken[first : first + size] for first in range(0, len(taken), size))
