"""Commit deliveries in groups: each is on the disk, with its work-list entry, before it is acknowledged.

One thread owns the file; deliveries received while a group is synced form the next group.

The write-ahead log is checkpointed in a thread of its own, not between commits: SQLite's own checkpoint, every thousand
pages, would make some deliveries wait for two more syncs.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing, suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pipelines.clock import utc_now
from pipelines.inbox.store import FROM_JSON, INTERVAL, connect, micros, reason_bit, transaction, upsert
from pipelines.inventory import note_added
from pipelines.settings.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pipelines.inbox.deliveries import Notification
    from pipelines.inbox.store import Inbox

    Encrypt = Callable[[Sequence[bytes]], tuple[Sequence[str], Sequence[str]]]
    Settled = Callable[[Sequence[tuple[object, bool]]], None]
    # Encrypts undecodable bodies durably and returns a reference to each, and those of bodies that made room for them.
    # Receives the tickets of a group, each with whether its delivery was committed.

_EVERY_SECONDS = 1.0
_LONG = 8_000  # pages, about 32 MB
_CHECKPOINT = "pragma wal_checkpoint(passive)"


class LogKeeper:
    """A thread that checkpoints once a second. That does not shorten a log that is never idle: see `shorten`."""

    def __init__(self, path: Path) -> None:
        self.is_long = False
        self._path = path
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="log keeper", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread."""
        self._ended.set()
        self._thread.join()

    def shorten(self, connection: sqlite3.Connection) -> None:
        """Checkpoint on the writer's thread between two commits: little is left to copy, and the log restarts."""
        connection.execute(_CHECKPOINT)
        self.is_long = False

    def _run(self) -> None:
        while not self._ended.wait(_EVERY_SECONDS):
            # The next commit meets and reports a full disk or a removed file.
            with suppress(sqlite3.Error, OSError), closing(connect(self._path)) as connection:
                _, pages, _ = connection.execute(_CHECKPOINT).fetchone()
                self.is_long = pages > _LONG


_GROUP = 500  # deliveries per transaction
_LOCKED_SECONDS = 3.0  # while another process writes; after that the sender should retry
_GATHER_SECONDS = 0.002  # after the first of a group: fewer, larger groups at little delay

# One statement per group: a statement per delivery would release and take Python's GIL each time.
_INSERT = """
insert into deliveries (received_at, topic, kind, id, delivery_id, bytes, undecodable, vault_ref)
select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7
from json_each(?) order by key
"""
_NOT_KEPT = """
update deliveries set vault_ref = null
where undecodable is not null and vault_ref in (select value from json_each(?))
"""


class Delivery(NamedTuple):
    """One delivery that waits to be committed; `body` is set only if it is undecodable and kept."""

    ticket: object
    received_at: int
    notification: Notification
    size: int
    body: bytes | None


class Committer:
    """The thread that commits. `encrypt` gets undecodable bodies, `failed` the reason why a group was not committed."""

    def __init__(
        self,
        path: Path,
        *,
        encrypt: Encrypt | None = None,
        failed: Callable[[str], None] | None = None,
    ) -> None:
        self._path, self._encrypt = path, encrypt
        self._settled: Settled = lambda _: None
        self._failed = failed or (lambda _: None)
        self._waiting: SimpleQueue[Delivery | None] = SimpleQueue()
        self._connection: Inbox | None = None
        self._thread = threading.Thread(target=self._run, name="committer")
        self._log = LogKeeper(path)

    def start(self, settled: Settled) -> None:
        """Open the file and start; `settled` is called from the thread, once per group.

        Raise sqlite3.Error or OSError if the file cannot be written.
        """
        self._settled = settled
        self._open()
        self._log.start()
        self._thread.start()

    def put(self, delivery: Delivery) -> None:
        """Queue a delivery; `settled` gets its result."""
        self._waiting.put(delivery)

    def stop(self) -> None:
        """Commit the queue, then close the file."""
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
        """Commit a group; return False, with nothing stored, if the disk, the lock or the vault fails."""
        try:
            refs, removed = self._encrypted(group)
            connection = self._open()
            self._write(connection, group, refs, removed)
            if self._log.is_long:
                self._log.shorten(connection)
        except Exception as error:  # noqa: BLE001 -- nothing is acknowledged, and the next group is attempted
            self._close()
            self._failed(
                f"{type(error).__name__}: {error}"
                if isinstance(error, sqlite3.Error | OSError)
                else type(error).__name__
            )
            return False
        return True

    def _encrypted(self, group: list[Delivery]) -> tuple[dict[int, str], Sequence[str]]:
        """Return the references by delivery, and those of bodies that are no longer kept."""
        undecodable = [n for n, delivery in enumerate(group) if delivery.body is not None]
        if self._encrypt is None or not undecodable:
            return {}, ()
        refs, removed = self._encrypt([group[n].body or b"" for n in undecodable])
        return dict(zip(undecodable, refs, strict=True)), removed

    def _write(self, connection: Inbox, group: list[Delivery], refs: dict[int, str], removed: Sequence[str]) -> None:
        rows = [
            (at, named.topic, named.kind, named.id, named.delivery_id, size, named.undecodable, refs.get(n))
            for n, (_, at, named, size, _) in enumerate(group)
        ]
        ids_of: dict[str, set[int]] = {kind: set() for kind in KINDS}
        for _, _, named, _, _ in group:
            if named.kind is not None and named.id is not None:
                ids_of[named.kind].add(named.id)
        now = micros(utc_now())
        with transaction(connection):
            last = connection.execute(_INSERT, (msgspec.json.encode(rows).decode(),)).lastrowid or 0
            self._note(connection, last - len(rows) + 1, last)
            if removed:
                connection.execute(_NOT_KEPT, (msgspec.json.encode(removed).decode(),))
            values = {
                "why": self._why,
                "now": now,
                "due": now,
                "since": None,
                "interval": INTERVAL,
            }
            for kind, ids in ids_of.items():
                if ids:
                    given = msgspec.json.encode(sorted(ids)).decode()
                    connection.execute(upsert(FROM_JSON), {**values, "kind": kind, "ids": given})

    def _note(self, connection: Inbox, first: int, last: int) -> None:
        note_added(connection, first, last)

    def _open(self) -> Inbox:
        """Return the connection; open a new one after an error, or if the file was removed."""
        if self._connection is not None and self._is_there():
            return self._connection
        self._close()
        self._connection = connect(self._path, busy_seconds=_LOCKED_SECONDS)
        self._inode = self._path.stat().st_ino
        self._connection.execute("pragma wal_autocheckpoint = 0")  # the log keeper checkpoints
        with transaction(self._connection):
            self._why = reason_bit(self._connection, "webhook")
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
