"""The SQLite file of the inbox: its tables, how it is opened and migrated, how a change is committed, and its entries.

A committed change is on the disk: WAL with synchronous=FULL. Holds no bodies: topics, kinds, ids, delivery ids, times
and sizes.

The work list and the webhook receiver share the statement that adds an entry, so that a delivery and its entry are
committed together.
"""

from __future__ import annotations

import fcntl
import functools
import sqlite3
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, BinaryIO, Literal

from pipelines.durable import make_folder
from pipelines.inventory import track
from pipelines.resources import resource

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BUSY_SECONDS = 30.0
_LAYOUT, _FIRST_LAYOUT = 5, 3  # 3 had no rejections, 4 no marks of the inventory; no release wrote an older one
# table, column that an older layout lacks, its type
_ADDED = (("entries", "rejections", "integer not null default 0"),)


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
    for table, new, kind in _ADDED:
        columns = {row[1] for row in connection.execute(f"pragma table_info({table})")}
        if columns and new not in columns:
            connection.execute(f"alter table {table} add column {new} {kind}")
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
class Entry:
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
