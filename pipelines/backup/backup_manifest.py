"""The manifest of a backup: every file with size and hash, and the row hashes of the release of that time.

A backup is a folder below the one that the user names, complete in itself; it counts once it has its name, and its
manifest is the last file written into it.
Files are copied durably, with hash and time; one that an earlier backup holds already is linked.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from pipelines.durable import sync
from pipelines.notify import last_backup
from pipelines.vault import key_sha256

if TYPE_CHECKING:
    from pipelines.ledger import LedgerEntry


_BLOCK = 1 << 20


class BackupError(Exception):
    """Nothing was backed up or restored; the message says why and what to do."""


def copy_file(source: Path, target: Path) -> tuple[int, str]:
    """Copy a file as it is now, synced, with its time of modification; return its size and SHA-256."""
    with source.open("rb") as file:
        return write_content(file, target, os.fstat(file.fileno()).st_mtime_ns)


def write_content(content: BinaryIO, target: Path, modified_ns: int) -> tuple[int, str]:
    """Write a file, synced, with a time of modification; return its size and SHA-256."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    digest, size = hashlib.sha256(), 0
    with target.open("wb") as copy:
        while block := content.read(_BLOCK):
            digest.update(block)
            size += len(block)
            copy.write(block)
        copy.flush()
        os.fsync(copy.fileno())
    os.utime(target, ns=(modified_ns, modified_ns))
    return size, digest.hexdigest()


def link(earlier: Path, target: Path) -> bool:
    """Link a file of an earlier backup into a new one; return whether the file system could."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        os.link(earlier, target)
    except OSError:
        return False
    return True


def copy_database(source: Path, target: Path) -> None:
    """Copy an SQLite file as of its last commit, while others write to it, into one file without a log."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with closing(sqlite3.connect(source, timeout=30)) as db, closing(sqlite3.connect(target)) as copy:
        db.backup(copy)
        copy.execute("pragma journal_mode = delete")
    target.chmod(0o600)


def sync_tree(folder: Path) -> None:
    """Sync every folder of a tree; its files were synced when they were written."""
    for path in (*(each for each in folder.rglob("*") if each.is_dir()), folder):
        sync(path)


MANIFEST = "manifest.json"
UNFINISHED = ".unfinished-"
FORMAT = 1


class BackupFile(msgspec.Struct, frozen=True):
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


class BackupManifest(msgspec.Struct, frozen=True):
    """What a backup holds. `base_url` is the service that the data came from, "" if nothing was fetched yet."""

    id: str
    taken_at: str
    base_url: str
    files: list[BackupFile]
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


def read_manifest(backup: Path) -> BackupManifest:
    """Return the manifest of a backup; raise BackupError if it cannot be read, or a later version wrote it."""
    path = backup / MANIFEST
    try:
        content = path.read_bytes()
        written = msgspec.json.decode(content).get("format")
        if isinstance(written, int) and written > FORMAT:
            raise BackupError(
                f"{path} has format {written}, this version reads up to {FORMAT}: install a later version"
            )
        return msgspec.json.decode(content, type=BackupManifest)
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror}; use another backup of that folder") from None
    except (msgspec.DecodeError, UnicodeDecodeError, AttributeError):
        raise BackupError(f"{path} is damaged: use another backup of that folder") from None


def backups_holding(data_dir: Path, entry: LedgerEntry | None) -> list[Path]:
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
