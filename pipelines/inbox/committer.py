"""Commit deliveries in groups: each is on the disk, with its work-list entry, before its sender hears of it.

Knows nothing of HTTP. One thread owns the file; whatever came while one group was being synced is the next group.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from datetime import UTC, datetime
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipelines.inbox.entries import FROM_JSON, KINDS, UPSERT, reason_bit
from pipelines.inbox.logkeeper import LogKeeper
from pipelines.inbox.store import connect, micros, transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pipelines.inbox.hints import Hint
    from pipelines.inbox.store import Inbox

    # Seals the bodies that nobody could read, durably, and returns a reference to each.
    Seal = Callable[[Sequence[bytes]], Sequence[str]]
    # Hears which of the deliveries it is given together were committed.
    Settled = Callable[[Sequence[tuple[object, bool]]], None]

_GROUP = 500  # deliveries a transaction
_LOCKED_SECONDS = 3.0  # another process writes: the sender should rather come again than wait longer
_GATHER_SECONDS = 0.002  # after the first of a group: fewer and larger groups, at little cost to any

# One statement for the group: a statement for each delivery would hand Python's lock back and forth as often.
_INSERT = """
insert into deliveries (received_at, topic, kind, id, delivery_id, bytes, undecodable, sealed_ref)
select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7
from json_each(?) order by key
"""


class Delivery(NamedTuple):
    """One delivery that waits to be committed; `body` is kept only when nobody could read it."""

    ticket: object
    received_at: int
    hint: Hint
    size: int
    body: bytes | None


class Committer:
    """The thread that commits. `seal` gets the bodies nobody could read, `failed` hears why a group was not kept."""

    def __init__(
        self,
        path: Path,
        *,
        seal: Seal | None = None,
        clock: Callable[[], datetime] | None = None,
        failed: Callable[[str], None] | None = None,
    ) -> None:
        self._path, self._seal = path, seal
        self._settled: Settled = lambda _: None
        self._clock = clock or (lambda: datetime.now(UTC))
        self._failed = failed or (lambda _: None)
        self._waiting: SimpleQueue[Delivery | None] = SimpleQueue()
        self._connection: Inbox | None = None
        self._thread = threading.Thread(target=self._run, name="committer")
        self._log = LogKeeper(path)

    def start(self, settled: Settled) -> None:
        """Open the file and start; `settled` is called from the thread, once a group.

        Raise sqlite3.Error or OSError when the file cannot be written at all.
        """
        self._settled = settled
        self._open()
        self._log.start()
        self._thread.start()

    def put(self, delivery: Delivery) -> None:
        """Hand over a delivery; `settled` says what became of it."""
        self._waiting.put(delivery)

    def stop(self) -> None:
        """Commit what was handed over, then close the file."""
        self._waiting.put(None)
        self._thread.join()
        self._log.stop()

    def _run(self) -> None:
        going = True
        while going:
            group: list[Delivery] = []
            next_one = self._waiting.get()
            time.sleep(_GATHER_SECONDS)
            while next_one is not None:
                group.append(next_one)
                if len(group) == _GROUP:
                    break
                try:
                    next_one = self._waiting.get_nowait()
                except Empty:
                    break
            going = next_one is not None
            if group:
                committed = self._commit(group)
                self._settled([(delivery.ticket, committed) for delivery in group])
        self._close()

    def _commit(self, group: list[Delivery]) -> bool:
        """Commit a group; False when the disk, the lock or the vault would not have it, and nothing of it is kept."""
        try:
            refs = self._sealed(group)
            connection = self._open()
            self._write(connection, group, refs)
            if self._log.is_long:
                self._log.shorten(connection)
        except Exception as error:  # noqa: BLE001 -- whatever it was, nothing is acknowledged and the next group is tried
            self._close()
            self._failed(
                f"{type(error).__name__}: {error}"
                if isinstance(error, sqlite3.Error | OSError)
                else type(error).__name__
            )
            return False
        return True

    def _sealed(self, group: list[Delivery]) -> dict[int, str]:
        unread = [n for n, delivery in enumerate(group) if delivery.body is not None]
        if self._seal is None or not unread:
            return {}
        return dict(zip(unread, self._seal([group[n].body or b"" for n in unread]), strict=True))

    def _write(self, connection: Inbox, group: list[Delivery], refs: dict[int, str]) -> None:
        rows = [
            (at, hint.topic, hint.kind, hint.id, hint.delivery_id, size, hint.undecodable, refs.get(n))
            for n, (_, at, hint, size, _) in enumerate(group)
        ]
        hinted: dict[str, set[int]] = {kind: set() for kind in KINDS}
        for _, _, hint, _, _ in group:
            if hint.kind is not None and hint.id is not None:
                hinted[hint.kind].add(hint.id)
        now = micros(self._clock())
        with transaction(connection):
            connection.execute(_INSERT, (msgspec.json.encode(rows).decode(),))
            values = {"why": reason_bit(connection, "webhook"), "now": now, "due": now, "since": None}
            for kind, ids in hinted.items():
                if ids:
                    given = msgspec.json.encode(sorted(ids)).decode()
                    connection.execute(UPSERT.format(ids=FROM_JSON), {**values, "kind": kind, "ids": given})

    def _open(self) -> Inbox:
        """Return the connection; a new one after an error, or when the file was taken away under the old one."""
        if self._connection is not None and self._is_there():
            return self._connection
        self._close()
        self._connection = connect(self._path, busy_seconds=_LOCKED_SECONDS)
        self._inode = self._path.stat().st_ino
        self._connection.execute("pragma wal_autocheckpoint = 0")  # the log keeper does it
        return self._connection

    def _is_there(self) -> bool:
        try:
            return self._path.stat().st_ino == self._inode
        except FileNotFoundError:
            return False

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
