"""The vault's SQLite file: its tables, its transactions, and random bytes."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING, Any

from pipelines.durable import make_folder
from pipelines.inventory import track
from pipelines.resources import resource

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_ASKED_AT_ONCE = 500
_RANDOM_AT_ONCE = 8_192


def opened(path: Path) -> sqlite3.Connection:
    """Open the file, created if necessary, readable by its owner only; deleted content is overwritten."""
    make_folder(path.parent, 0o700)
    db = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
    try:
        path.chmod(0o600)
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = normal")
        db.execute("pragma secure_delete = on")
        db.execute("pragma cache_size = -65536")
        db.executescript((resource("sql") / "vault" / "tables.sql").read_text(encoding="utf-8"))
        track(db, "vault/vault.sqlite")
    except BaseException:
        db.close()
        raise
    return db


class Random:
    """Random bytes, requested from the kernel in large blocks."""

    def __init__(self) -> None:
        self._bytes = b""
        self._at = 0

    def take(self, size: int) -> bytes:
        """Return bytes that were never returned before."""
        start = self._at
        self._at = start + size
        if self._at > len(self._bytes):
            self._bytes, start, self._at = os.urandom(_RANDOM_AT_ONCE), 0, size
        return self._bytes[start : self._at]


class transaction:  # noqa: N801 -- used like a function
    """`begin immediate` … `commit`, or `rollback` when the block raises."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("begin immediate")

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._db.execute("commit" if kind is None else "rollback")


def parts(values: set[Any]) -> Iterable[list[Any]]:
    """Yield values in lists short enough for one statement."""
    chosen = sorted(values)
    for start in range(0, len(chosen), _ASKED_AT_ONCE):
        yield chosen[start : start + _ASKED_AT_ONCE]


def erased_ids(db: sqlite3.Connection, kind: str, ids: set[int]) -> set[int]:
    """Return which of these documents were erased."""
    if db.execute("select 1 from erased limit 1").fetchone() is None:
        return set()
    found: set[int] = set()
    for part in parts(ids):
        marks = ", ".join("?" * len(part))
        query = f"select id from erased where kind = ? and id in ({marks})"
        found |= {id_ for (id_,) in db.execute(query, (kind, *part))}
    return found
