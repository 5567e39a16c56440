"""Copy files durably, with their hash and time; link what an earlier backup holds already."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from pipelines.durable import sync

if TYPE_CHECKING:
    from pathlib import Path

_BLOCK = 1 << 20


class BackupError(Exception):
    """Nothing was backed up or restored; the message says why and what to do."""


def copy_file(source: Path, target: Path) -> tuple[int, str]:
    """Copy a file as it is now, synced, with its time of modification; return its size and SHA-256."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    digest, size = hashlib.sha256(), 0
    with source.open("rb") as file, target.open("wb") as copy:
        modified = os.fstat(file.fileno()).st_mtime_ns
        while block := file.read(_BLOCK):
            digest.update(block)
            size += len(block)
            copy.write(block)
        copy.flush()
        os.fsync(copy.fileno())
    os.utime(target, ns=(modified, modified))
    return size, digest.hexdigest()


def write_content(content: bytes, target: Path, modified_ns: int) -> tuple[int, str]:
    """Write a small file, synced, with a time of modification; return its size and SHA-256."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with target.open("wb") as copy:
        copy.write(content)
        copy.flush()
        os.fsync(copy.fileno())
    os.utime(target, ns=(modified_ns, modified_ns))
    return len(content), hashlib.sha256(content).hexdigest()


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
