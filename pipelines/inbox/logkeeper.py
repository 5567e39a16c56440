"""Move committed pages from the inbox's write-ahead log to its file, beside the commits and not between them.

Knows nothing of what is committed. Without it every thousandth page would make some deliveries wait for two more syncs.
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
    """A thread that checkpoints once a second. A log that is never idle only gets longer that way: see `shorten`."""

    def __init__(self, path: Path) -> None:
        self.is_long = False
        self._path = path
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="log keeper", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; whoever closes the file last leaves no log behind."""
        self._ended.set()
        self._thread.join()

    def shorten(self, connection: sqlite3.Connection) -> None:
        """Checkpoint from the only writer, between two commits: little is left to do, and the log begins anew."""
        connection.execute(_CHECKPOINT)
        self.is_long = False

    def _run(self) -> None:
        while not self._ended.wait(_EVERY_SECONDS):
            # A full disk or a file that was taken away is met, and told, by the next commit.
            with suppress(sqlite3.Error, OSError), closing(connect(self._path)) as connection:
                _, pages, _ = connection.execute(_CHECKPOINT).fetchone()
                self.is_long = pages > _LONG
