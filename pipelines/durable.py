"""Write files so that neither a kill nor a loss of power leaves half of one: temporary name, sync, rename, sync.

Every file that is not SQLite's, DuckDB's or Arrow's own is written by these functions, and Arrow's are put in their
place by them. Knows nothing of what files hold.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

UNFINISHED = ".tmp"


def unfinished(path: Path) -> Path:
    """Return the temporary name of a file, beside it."""
    return path.with_name(path.name + UNFINISHED)


def put_in_place(path: Path) -> None:
    """Sync the file under its temporary name and rename it to `path`, durably."""
    sync(unfinished(path))
    unfinished(path).replace(path)
    sync(path.parent)


def write_whole(path: Path, content: bytes) -> None:
    """Write a small file, durably, whole or not at all."""
    try:
        unfinished(path).write_bytes(content)
        put_in_place(path)
    except BaseException:
        unfinished(path).unlink(missing_ok=True)
        raise


def append(path: Path, content: bytes) -> None:
    """Append to a file, durably; a kill may leave a part of the content at its end."""
    is_new = not path.exists()
    with path.open("ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if is_new:
        sync(path.parent)


def sync(path: Path) -> None:
    """Make the content of a file durable, or the names in a folder: creations, renames and deletions."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Create a folder and those above it, durably, if they are missing; `mode` is for the folder itself."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True, mode=mode)
    sync(path.parent)
