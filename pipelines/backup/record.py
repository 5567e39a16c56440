"""Remember the last backup of a data folder in a small file, so that a status shows how old it is.

Knows nothing of what a backup holds.
"""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.notify.files import write_json

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class LastBackup:
    """The last backup that was completed: when it began, its name, and the folder that it is in."""

    taken_at: dt.datetime
    path: str
    bytes: int


def last_backup(data_dir: Path) -> LastBackup | None:
    """Return the last backup; None before the first or when the file cannot be read."""
    try:
        entry = json.loads(_file(data_dir).read_text(encoding="utf-8"))
        return LastBackup(dt.datetime.fromisoformat(entry["taken_at"]), entry["path"], entry["bytes"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def record_backup(data_dir: Path, backup: LastBackup) -> None:
    """Record that a backup was completed."""
    entry = {"taken_at": backup.taken_at.isoformat(), "path": backup.path, "bytes": backup.bytes}
    write_json(_file(data_dir), entry)


def _file(data_dir: Path) -> Path:
    return data_dir / "notify" / "last_backup.json"
