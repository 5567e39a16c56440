"""The manifest of a backup: every file with size and hash, and the row hashes of the release of that time.

A backup is a folder below the one that the user names, complete in itself; it counts once it has its name, and its
manifest is the last file written into it.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import msgspec

from pipelines.backup.copying import BackupError

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = "manifest.json"
UNFINISHED = ".unfinished-"
FORMAT = 1


class File(msgspec.Struct, frozen=True):
    """A file by its path, the same in the backup and in the data folder. `modified_ns` is the original's."""

    path: str
    bytes: int
    sha256: str
    modified_ns: int


class Rows(msgspec.Struct, frozen=True):
    """The rows of a table: their number, and a sum of their hashes that does not depend on their order."""

    count: int
    hashes: str


class ReleaseRows(msgspec.Struct, frozen=True):
    """The release that was current when the backup began: its loads, what shaped its tables, and their rows."""

    id: str
    load_ids: list[str]
    fingerprint: dict[str, str]
    sources: dict[str, str]
    tables: dict[str, Rows]


class Manifest(msgspec.Struct, frozen=True):
    """What a backup holds. `base_url` is the service that the data came from, "" if nothing was fetched yet."""

    id: str
    taken_at: str
    base_url: str
    files: list[File]
    release: ReleaseRows | None
    format: int = FORMAT


def backups(folder: Path) -> list[Path]:
    """Return the complete backups in a folder, oldest first."""
    if not folder.is_dir():
        return []
    return sorted(each.parent for each in folder.glob(f"[!.]*/{MANIFEST}"))


def name_after(last: Path | None) -> dt.datetime:
    """Return the earliest time for the next backup's name: just after the last, also if the clock was set back."""
    if last is None:
        return dt.datetime.min.replace(tzinfo=dt.UTC)
    try:
        taken = dt.datetime.strptime(last.name, "%Y%m%dT%H%M%S%f").replace(tzinfo=dt.UTC)
    except ValueError:
        return dt.datetime.min.replace(tzinfo=dt.UTC)
    return taken + dt.timedelta(microseconds=1)


def read_manifest(backup: Path) -> Manifest:
    """Return the manifest of a backup; raise BackupError if it cannot be read, or a later version wrote it."""
    path = backup / MANIFEST
    try:
        content = path.read_bytes()
        written = msgspec.json.decode(content).get("format")
        if isinstance(written, int) and written > FORMAT:
            raise BackupError(
                f"{path} has format {written}, this version reads up to {FORMAT}: install a later version"
            )
        return msgspec.json.decode(content, type=Manifest)
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror}; use another backup of that folder") from None
    except (msgspec.DecodeError, AttributeError):
        raise BackupError(f"{path} is damaged: use another backup of that folder") from None
