"""Name the backups that still hold what was erased; none of it is read but hashes of customers' random keys."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.backup.manifest import backups
from pipelines.notify import last_backup
from pipelines.vault import key_sha256

if TYPE_CHECKING:
    from pipelines.ledger import Entry


def backups_holding(data_dir: Path, entry: Entry | None) -> list[Path]:
    """Return the backups, in the folder of the last one, whose vault has a key of a customer of an erasure."""
    last = last_backup(data_dir)
    if last is None or entry is None:
        return []
    erased = set(entry.body["customer_sha256"])
    return [each for each in backups(Path(last.path).parent) if _holds(each / "vault" / "vault.sqlite", erased)]


def _holds(vault: Path, erased: set[str]) -> bool:
    if not vault.exists():
        return False
    try:
        with closing(sqlite3.connect(f"file:{vault}?mode=ro&immutable=1", uri=True)) as db:
            rows = db.execute("select customer_key from customers where wrapped is not null")
            return any(key_sha256(key) in erased for (key,) in rows)
    except sqlite3.Error:
        return True  # it cannot be looked at
