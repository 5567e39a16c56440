"""The one SQLite file of the inbox: its tables, how it is opened, how a change is committed.

Knows nothing of HTTP or of what an entry is for. A committed change is on the disk: WAL with
synchronous=FULL. Holds no bodies: topics, kinds, ids, delivery ids, times and sizes.
"""

from __future__ import annotations

import fcntl
import sqlite3
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BUSY_SECONDS = 30.0
_LAYOUT = 2  # 1 had no plans

# due_at is null for whatever waits for nothing: done, dead letters, given up. `hints` counts
# additions and `covers` is its value when the fetch under way began: a later hint makes
# hints > covers, whatever the clocks say.
_TABLES = """
create table if not exists reasons (no integer primary key, name text not null unique) strict;

create table if not exists entries (
    kind text not null,
    id integer not null,
    state text not null check (state in ('waiting', 'started', 'done', 'dead', 'given_up')),
    why integer not null,
    due_at integer,
    added_at integer not null,
    hinted_at integer not null,
    hints integer not null,
    covers integer,
    tries integer not null default 0,
    misses integer not null default 0,
    last_tried_at integer,
    finished_at integer,
    reason text,
    primary key (kind, id)
) strict, without rowid;

create index if not exists entries_due on entries (kind, due_at, id) where due_at is not null;

create table if not exists deliveries (
    seq integer primary key,
    received_at integer not null,
    topic text,
    kind text,
    id integer,
    delivery_id text,
    bytes integer not null,
    undecodable text,
    sealed_ref text
) strict;

create index if not exists deliveries_undecodable on deliveries (seq) where undecodable is not null;

create table if not exists plans (
    no integer primary key,
    planned_at integer not null,
    due integer not null,
    left_out integer not null,
    population integer not null,
    sample text not null,
    gap text not null,
    told_at integer,
    checked integer,
    changed integer,
    missing integer,
    confidence real,
    low real,
    high real,
    gap_found_count integer,
    gap_unnotified_count integer
) strict;
"""


class Inbox(sqlite3.Connection):
    """A connection to the inbox whose writers take turns.

    SQLite lets whoever asks at the right moment write next: a run that notes thousands of results would keep the
    receiver waiting for seconds. So a writer goes through two file locks, keeping the first until it has the second:
    whoever was next in line cannot be overtaken by the one that has just been served. A killed writer loses its locks.
    """

    line: BinaryIO
    desk: BinaryIO

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait in line, then keep other writers away."""
        fcntl.flock(self.line, fcntl.LOCK_EX)
        try:
            fcntl.flock(self.desk, fcntl.LOCK_EX)
        finally:
            fcntl.flock(self.line, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(self.desk, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file and its locks."""
        super().close()
        with suppress(AttributeError):  # the file itself could not be opened
            self.line.close()
            self.desk.close()


def connect(path: Path, *, busy_seconds: float = BUSY_SECONDS) -> Inbox:
    """Open the inbox at `path`, or make it; usable from several processes and threads.

    Raise sqlite3.Error when the file is no inbox of this layout or the disk is full.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(
        path, timeout=busy_seconds, isolation_level=None, check_same_thread=False, factory=Inbox
    )
    try:
        connection.line = path.with_name(path.name + "-line").open("ab")
        connection.desk = path.with_name(path.name + "-desk").open("ab")
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = full")
        layout = connection.execute("pragma user_version").fetchone()[0]
        if layout < _LAYOUT:  # every change so far added a table
            connection.executescript(f"begin immediate; {_TABLES} pragma user_version = {_LAYOUT}; commit;")
        elif layout != _LAYOUT:
            raise sqlite3.DatabaseError(f"{path.name} has layout {layout}, this version reads {_LAYOUT}")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: Inbox) -> Iterator[Inbox]:
    """Run one short writing transaction: committed and synced, or rolled back."""
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
    """Return a moment as whole microseconds since 1970, UTC; a time without offset is refused."""
    if at.tzinfo is None:
        raise ValueError("a time without offset names no moment")
    return (at - EPOCH) // timedelta(microseconds=1)


def moment(value: int | None) -> datetime | None:
    """Return what `micros` stored."""
    return None if value is None else EPOCH + timedelta(microseconds=value)
