"""Keep state in small files of JSON, each written whole or not at all; such as the last backup, for a status."""

from __future__ import annotations

import datetime as dt  # noqa: TC003 - msgspec reads the annotations
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from pipelines.durable import make_folder, write_whole
from pipelines.inventory import InventoryError, write_noted

if TYPE_CHECKING:
    from pathlib import Path


Kept = TypeVar("Kept")


def write_json(file: Path, content: Any) -> None:
    """Write the file under another name, sync it, and rename it."""
    encoded = json.dumps(msgspec.to_builtins(content), indent=1).encode()
    try:
        write_noted(file.parent.parent, file, encoded)
    except InventoryError:  # a night says that the inventory is lost, and must be able to
        make_folder(file.parent, 0o700)
        write_whole(file, encoded)


def read_json(file: Path, kind: type[Kept]) -> Kept | None:
    """Return the file's content; None where there is none, or it is not of this type."""
    try:
        return msgspec.convert(json.loads(file.read_bytes()), kind)  # a text may hold half a pair of surrogates
    except (OSError, ValueError, msgspec.ValidationError):
        return None


@dataclass(frozen=True)
class LastBackup:
    """The last backup that was completed: when it began, its name, and the folder that it is in."""

    taken_at: dt.datetime
    path: str
    bytes: int


def last_backup(data_dir: Path) -> LastBackup | None:
    """Return the last backup; None before the first or when the file cannot be read."""
    return read_json(_last_backup_file(data_dir), LastBackup)


def record_backup(data_dir: Path, backup: LastBackup) -> None:
    """Record that a backup was completed."""
    write_json(_last_backup_file(data_dir), backup)


def _last_backup_file(data_dir: Path) -> Path:
    return data_dir / "notify" / "last_backup.json"
