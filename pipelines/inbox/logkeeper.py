"""Checkpoint the write-ahead log of the inbox in a thread of its own, not between commits.

SQLite's own checkpoint, every thousand pages, would make some deliveries wait for two more syncs.
"""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from pipelines.inbox.store import connect

if TYPE_CHECKING:
    from pathlib import Path

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
