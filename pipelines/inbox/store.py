"""The SQLite file of the inbox: its tables, how it is opened and migrated, how a change is committed, and its entries.

A committed change is on the disk: WAL with synchronous=FULL. Holds no bodies: topics, kinds, ids, delivery ids, times
and sizes.

The work list and the webhook receiver share the statement that adds an entry, so that a delivery and its entry are
committed together. Deliveries are committed in groups, each before it is acknowledged: one thread owns the file, and
deliveries received while a group is synced form the next group.
"""

from __future__ import annotations

import fcntl
import functools
import sqlite3
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple

import msgspec

from pipelines.clock import utc_now
from pipelines.durable import make_folder
from pipelines.resources import resource
from pipelines.settings.kinds import KINDS
from pipelines.tracked import track

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from pipelines.inbox.deliveries import Notification

    # Encrypts undecodable bodies durably and returns a reference to each, and those of bodies that made room for them.
    Encrypt = Callable[[Sequence[bytes]], tuple[Sequence[str], Sequence[str]]]
    # Receives the tickets of a group, each with whether its delivery was committed.
    Settled = Callable[[Sequence[tuple[object, bool]]], None]


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BUSY_SECONDS = 30.0
_LAYOUT, _FIRST_LAYOUT = 6, 3  # 3 had no rejections, 4 no marks of the inventory, 5 did not say since when ids fail
# column of entries that an older layout lacks, its type, and what follows
_ADDED = (
    ("rejections", "integer not null default 0", ""),
    # What failed once waited for a person.
    (
        "failing_since",
        "integer",
        """
        update entries set state = 'waiting', due_at = finished_at, failing_since = finished_at
        where state = 'dead' and rejections = 0
        """,
    ),
)


class Inbox(sqlite3.Connection):
    """A connection to the inbox whose writers take turns.

    SQLite does not queue writers: a run that records thousands of results could keep the receiver waiting for seconds.
    So a writer takes two file locks and keeps the first until it has the second: the next in the queue cannot be
    overtaken by the writer that has just finished. A killed writer loses its locks.
    """

    queue_lock: BinaryIO
    write_lock: BinaryIO

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn, then keep other writers out while the block runs."""
        fcntl.flock(self.queue_lock, fcntl.LOCK_EX)
        try:
            fcntl.flock(self.write_lock, fcntl.LOCK_EX)
        finally:
            fcntl.flock(self.queue_lock, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(self.write_lock, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file and its locks."""
        super().close()
        with suppress(AttributeError):  # the file itself could not be opened
            self.queue_lock.close()
            self.write_lock.close()


def inbox_path(data_dir: Path) -> Path:
    """Return the inbox file below the data folder."""
    return data_dir / "inbox" / "worklist.sqlite"


def connect(path: Path, *, busy_seconds: float = BUSY_SECONDS) -> Inbox:
    """Open the inbox at `path`, creating or migrating it; usable from several processes and threads.

    Raise sqlite3.Error if the file is not an inbox, has a newer layout or one of before 0.1.0, or the disk is full.
    """
    make_folder(path.parent)
    connection = sqlite3.connect(
        path, timeout=busy_seconds, isolation_level=None, check_same_thread=False, factory=Inbox
    )
    try:
        connection.queue_lock = path.with_name(path.name + "-queue").open("ab")
        connection.write_lock = path.with_name(path.name + "-write").open("ab")
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = full")
        layout = connection.execute("pragma user_version").fetchone()[0]
        if layout > _LAYOUT or 0 < layout < _FIRST_LAYOUT:
            raise sqlite3.DatabaseError(
                f"{path.name} has layout {layout}, this version reads {_FIRST_LAYOUT} to {_LAYOUT}"
            )
        if layout < _LAYOUT:
            with transaction(connection):
                _migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _migrate(connection: Inbox) -> None:
    """Add the columns that an older layout lacks, create the tables that are missing; harmless when repeated."""
    columns = {row[1] for row in connection.execute("pragma table_info(entries)")}
    for new, kind, then in _ADDED:
        if columns and new not in columns:
            connection.execute(f"alter table entries add column {new} {kind}")
            connection.execute(then)
    for statement in (resource("sql") / "inbox" / "tables.sql").read_text(encoding="utf-8").split(";"):
        connection.execute(statement)
    track(connection, "inbox/worklist.sqlite")
    connection.execute(f"pragma user_version = {_LAYOUT}")


@contextmanager
def transaction(connection: Inbox) -> Iterator[Inbox]:
    """Run one short write transaction: committed and synced, or rolled back."""
    with connection.turn():
        connection.execute("begin immediate")
        try:
            yield connection
            connection.execute("commit")
        except BaseException:
            if connection.in_transaction:
                connection.execute("rollback")
            raise


def micros(at: datetime) -> int:
    """Return an instant as whole microseconds since 1970, UTC; raise ValueError for a time without offset."""
    if at.tzinfo is None:
        raise ValueError("a time without offset is not an instant")
    return (at - EPOCH) // timedelta(microseconds=1)


def moment(value: int | None) -> datetime | None:
    """Return the instant that `micros` stored."""
    return None if value is None else EPOCH + timedelta(microseconds=value)


State = Literal["waiting", "started", "done", "dead", "given_up"]

INT64 = range(-(2**63), 2**63)
IDS = range(2**63)  # of documents
_MOST_REASONS = 62
INTERVAL = 60 * 1_000_000  # microseconds from the last request of an id until a webhook makes it due again
BAD_TOGETHER = "failed with most others: "  # how a reason begins when most ids of the load failed, too

FROM_JSON = "select distinct value from json_each(:ids)"
FROM_RANGE = """
with recursive counted(value) as (
    select :first union all select value + 1 from counted where value < :last
) select value from counted
"""


@functools.cache
def upsert(ids: str) -> str:
    """Return the statement that adds the ids of a select, or the reason to those that are there."""
    return (resource("sql") / "inbox" / "upsert.sql").read_text(encoding="utf-8").format(ids=ids)


@dataclass(frozen=True, slots=True)
class WorkListEntry:
    """One id of the work list: why it is to be fetched, when it is due, and what was attempted."""

    kind: str
    id: int
    state: State
    why: frozenset[str]
    added_at: datetime
    due_at: datetime | None
    last_attempt_at: datetime | None
    finished_at: datetime | None
    attempts: int
    misses: int
    reason: str | None
    rejections: int


def reason_bit(connection: sqlite3.Connection, why: str) -> int:
    """Return the bit of a reason, adding a new one; call it inside a transaction."""
    connection.execute(
        "insert into reasons (no, name) select (select count(*) from reasons), :why "
        "where not exists (select 1 from reasons where name = :why)",
        {"why": why},
    )
    no: int = connection.execute("select no from reasons where name = ?", (why,)).fetchone()[0]
    if no > _MOST_REASONS:
        raise ValueError(f"more than {_MOST_REASONS} reasons: a reason is a category, not free text")
    return 1 << no


def add_notified(
    connection: sqlite3.Connection, ids_of: Mapping[str, Collection[int]], why: int, interval: int
) -> None:
    """Make the ids due that webhooks named, by kind, but `interval` microseconds after a request at the earliest.

    `why` is the bit of the reason. Call it inside a transaction.
    """
    now = micros(utc_now())
    values = {"why": why, "now": now, "due": now, "since": None, "interval": interval}
    for kind, ids in ids_of.items():
        if ids:
            given = msgspec.json.encode(sorted(ids)).decode()
            connection.execute(upsert(FROM_JSON), {**values, "kind": kind, "ids": given})


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


class WebhookDelivery(NamedTuple):
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
        self._waiting: SimpleQueue[WebhookDelivery | None] = SimpleQueue()
        self._connection: Inbox | None = None
        self._inode = 0
        self._thread = threading.Thread(target=self._run, name="committer")

    def start(self, settled: Settled) -> None:
        """Open the file and start; `settled` is called from the thread, once per group.

        Raise sqlite3.Error or OSError if the file cannot be written.
        """
        self._settled = settled
        self._open()
        self._thread.start()

    def put(self, delivery: WebhookDelivery) -> None:
        """Queue a delivery; `settled` gets its result."""
        self._waiting.put(delivery)

    def stop(self) -> None:
        """Commit the queue, then close the file."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        going = True
        while going:
            group: list[WebhookDelivery] = []
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

    def _commit(self, group: list[WebhookDelivery]) -> bool:
        """Commit a group; return False, with nothing stored, if the disk, the lock or the vault fails."""
        try:
            refs, removed = self._encrypted(group)
            connection = self._open()
            self._write(connection, group, refs, removed)
        except Exception as error:  # noqa: BLE001 -- nothing is acknowledged, and the next group is attempted
            self._close()
            self._failed(
                f"{type(error).__name__}: {error}"
                if isinstance(error, sqlite3.Error | OSError)
                else type(error).__name__
            )
            return False
        return True

    def _encrypted(self, group: list[WebhookDelivery]) -> tuple[dict[int, str], Sequence[str]]:
        """Return the references by delivery, and those of bodies that are no longer kept."""
        undecodable = [n for n, delivery in enumerate(group) if delivery.body is not None]
        if self._encrypt is None or not undecodable:
            return {}, ()
        refs, removed = self._encrypt([group[n].body or b"" for n in undecodable])
        return dict(zip(undecodable, refs, strict=True)), removed

    def _write(
        self, connection: Inbox, group: list[WebhookDelivery], refs: dict[int, str], removed: Sequence[str]
    ) -> None:
        rows = [
            (at, named.topic, named.kind, named.id, named.delivery_id, size, named.undecodable, refs.get(n))
            for n, (_, at, named, size, _) in enumerate(group)
        ]
        ids_of: dict[str, set[int]] = {kind: set() for kind in KINDS}
        for _, _, named, _, _ in group:
            if named.kind is not None and named.id is not None:
                ids_of[named.kind].add(named.id)
        with transaction(connection):
            connection.execute(_INSERT, (msgspec.json.encode(rows).decode(),))
            if removed:
                connection.execute(_NOT_KEPT, (msgspec.json.encode(removed).decode(),))
            add_notified(connection, ids_of, self._why, INTERVAL)

    def _open(self) -> Inbox:
        """Return the connection; open a new one after an error, or if the file was removed."""
        if self._connection is not None:
            with suppress(FileNotFoundError):
                if self._path.stat().st_ino == self._inode:
                    return self._connection
        self._close()
        self._connection = connect(self._path, busy_seconds=_LOCKED_SECONDS)
        self._inode = self._path.stat().st_ino
        with transaction(self._connection):
            self._why = reason_bit(self._connection, "webhook")
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
