"""Remember the last backup of a data folder in a small file, so that a status shows how old it is."""

from __future__ import annotations

import datetime as dt  # noqa: TC003 - msgspec reads the annotations
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.notify.files import read_json, write_json

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
    return read_json(_file(data_dir), LastBackup)


def record_backup(data_dir: Path, backup: LastBackup) -> None:
    """Record that a backup was completed."""
    write_json(_file(data_dir), backup)


def _file(data_dir: Path) -> Path:
    return data_dir / "notify" / "last_backup.json"
