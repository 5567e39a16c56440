"""Put a file in its place whole or not at all: temporary name, sync, rename, sync of the folder.

Knows nothing of what the files hold.
"""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path

UNFINISHED = ".tmp"


class LandingError(Exception):
    """Nothing could be landed; the message says why and what to do, never a payload's value."""


def unfinished(path: Path) -> Path:
    """Return the temporary name of a file, beside it."""
    return path.with_name(path.name + UNFINISHED)


def put_in_place(path: Path) -> None:
    """Sync the file under its temporary name and rename it to `path`, durably."""
    draft = unfinished(path)
    descriptor = os.open(draft, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    draft.replace(path)
    sync_folder(path.parent)


def write_whole(path: Path, content: bytes) -> None:
    """Write a small file, durably, whole or not at all."""
    draft = unfinished(path)
    draft.write_bytes(content)
    put_in_place(path)


def sync_folder(folder: Path) -> None:
    """Make renames and deletions in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Lock:
    """Hold a lock file while a load or a merge of one kind is under way; the kernel frees it when a process dies."""

    def __init__(self, path: Path, what: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._descriptor)
            raise LandingError(f"another load of {what} is under way: wait for it to end") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Let others go on; releasing twice does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
