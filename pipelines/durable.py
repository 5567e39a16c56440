"""Write files so that neither a kill nor a loss of power leaves half of one: temporary name, sync, rename, sync.

Every file that is not SQLite's, DuckDB's or Arrow's own is written by these functions, and Arrow's are put in their
place by them. A file is its owner's alone, but for releases. A full disk is recognised in an error of Python, DuckDB or
SQLite, and said in one sentence with what to do.
"""

import contextlib
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

UNFINISHED = ".tmp"
_PUBLISHED = "published"
# Ours alone are closed: a data folder may be one that somebody uses for other things too.
_FOLDERS = {_PUBLISHED, *"backups dagster inbox ledger notify raw runs sandbox vault warehouse".split()}
# Others may reach `published/` in the data folder, but see nothing else there, not even names.
_DATA, _PRIVATE, _READABLE, _PRIVATE_UMASK = 0o711, 0o700, 0o755, 0o077
# Of a data folder that a group shares: with these modes besides, and files for the group.
_GROUP, _SHARED_UMASK = 0o2070, 0o007


def unfinished(path: Path) -> Path:
    """Return the temporary name of a file, beside it."""
    return path.with_name(path.name + UNFINISHED)


def put_in_place(path: Path) -> None:
    """Sync the file under its temporary name and rename it to `path`, durably."""
    sync(unfinished(path))
    unfinished(path).replace(path)
    sync(path.parent)


def fresh(path: Path, mode: int = 0o666) -> BinaryIO:
    """Open a new file to write; whatever has its name, such as a planted link, is removed, never followed."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode), "wb")


def write_whole(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write a small file, durably, whole or not at all."""
    try:
        with fresh(unfinished(path), mode) as file:
            file.write(content)
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


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def copy_file(source: Path, target: Path) -> None:
    """Copy a file within the kernel; a file system that can shares its blocks."""
    with source.open("rb") as read, target.open("wb") as write:
        try:
            while os.copy_file_range(read.fileno(), write.fileno(), 1 << 30):
                pass
        except (AttributeError, OSError):  # another system, or another file system
            shutil.copyfile(source, target)


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Create a folder and those above it, durably, if they are missing; `mode` is for the folder itself."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True, mode=mode)
    sync(path.parent)


def write_privately() -> None:
    """Let this process, and those that it starts, write files and folders that only their owner can read."""
    os.umask(_PRIVATE_UMASK)


def keep_private(data_dir: Path) -> None:
    """Create the data folder if it is missing, and let nobody else into its folders, but for published releases.

    A data folder with the set-group-ID bit is shared: its group keeps its rights, and what this process creates from
    now on is the group's, too.
    """
    make_folder(data_dir)
    group = _GROUP if data_dir.stat().st_mode & stat.S_ISGID else 0
    if group:
        os.umask(_SHARED_UMASK)
    _set_mode(data_dir, _DATA | group)
    for folder in data_dir.iterdir():
        if folder.name in _FOLDERS and folder.is_dir() and not folder.is_symlink():
            _set_mode(folder, (_READABLE if folder.name == _PUBLISHED else _PRIVATE) | group)


def open_to_readers(folder: Path) -> None:
    """Let others read a folder and everything in it, and make it durable; files with other names were so before."""
    for at, _, names in os.walk(folder):
        for path in (Path(at, name) for name in names):
            found = path.lstat()
            if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
                _set_mode(path, stat.S_IMODE(found.st_mode) | 0o444)
                sync(path)
        _set_mode(Path(at), _READABLE)
        sync(Path(at))


def _set_mode(path: Path, mode: int) -> None:
    """Set a mode that is another; leave what belongs to another user, such as the folder of a mounted volume."""
    if stat.S_IMODE(path.stat().st_mode) != mode:
        with contextlib.suppress(PermissionError):
            path.chmod(mode)


_SIGNS = ("no space left on device", "disk quota exceeded", "disk is full", "disk full")
_MIB = 1 << 20


class DiskFullError(Exception):
    """The disk of the data folder is full; the message says what failed and what to free."""


@contextmanager
def naming_a_full_disk(data_dir: Path) -> Iterator[None]:
    """Raise DiskFullError for any error of the block that comes of a full disk."""
    try:
        yield
    except DiskFullError:
        raise
    except Exception as error:
        if sentence := disk_full(str(error), data_dir):
            raise DiskFullError(sentence) from None
        raise


def disk_full(text: str, data_dir: Path) -> str:
    """Return the sentence for an error text that comes of a full disk; "" for any other."""
    if "file too large" in text.lower():
        return "a file would be larger than this process may write: raise `ulimit -f`; what was there stays as it was"
    if not any(sign in text.lower() for sign in _SIGNS):
        return ""
    free = shutil.disk_usage(data_dir).free if data_dir.exists() else 0
    warehouse = data_dir / "warehouse" / "warehouse.duckdb"
    needed = 3 * (warehouse.stat().st_size if warehouse.exists() else 0)
    wanted = f"a build and its release take about {needed // _MIB + 1:,} MiB" if needed else "more is needed"
    first = " ".join(text.split())
    return (
        f"The disk of {data_dir} is full: {free // _MIB:,} MiB are free, {wanted}. What failed: {first[:200]}. Free "
        f"some, such as {data_dir}/warehouse/*.damaged-*, or lower [warehouse] keep_releases and [release] "
        "keep_nights, and run again: what was landed stays, and so does the last release"
    )
