"""How DuckDB is opened and writes: settings of sessions and files, memory, and files that cannot be opened."""

from __future__ import annotations

import fcntl
import os
import resource
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.literals import literal
from pipelines.settings import Settings

if TYPE_CHECKING:
    import duckdb

SESSION: dict[str, Any] = {
    "preserve_insertion_order": False,
    # Trying FSST on every text column takes most of the time of writing a table, and saves a quarter of the file.
    "disabled_compression_methods": "fsst",
}
# How a new file is attached that nobody needs before all of it is written: without a log, and of a format that DuckDB
# since 1.4 reads; text is written in half the time that older ones take.
DRAFT = "(storage_version 'v1.4.0', recovery_mode no_wal_writes)"

_NEVER_ALIKE = ("customer_key", "_payload_sha256", "sha256")


def spelled(columns: Iterable[tuple[str, str]]) -> str:
    """Return the columns, given by name and type, as `create table` wants them."""
    return ", ".join(f'"{name}" {kind}{_compression(name, kind)}' for name, kind in columns)


def _compression(name: str, kind: str) -> str:
    if kind.startswith("DECIMAL(38,"):  # numbers of 128 bits, packed, take 80 times as long to read
        return " using compression rle"
    if name in _NEVER_ALIKE:  # packing such texts takes five times as long as writing them, and saves a half
        return " using compression uncompressed"
    return ""


def comment(con: duckdb.DuckDBPyConnection, relation: str, meaning: str, columns: Iterable[tuple[str, str]]) -> None:
    """Say in a database what a table (or a view, after that word) means, and its columns, given by name and meaning."""
    kind, _, name = relation.rpartition(" ")
    said = [f'comment on column {name}."{column}" is {literal(words)}' for column, words in columns]
    con.execute("; ".join([f"comment on {kind or 'table'} {name} is {literal(meaning)}", *said]))


def count_of(done: duckdb.DuckDBPyConnection) -> int:
    """Return how many rows a statement wrote or counted."""
    row = done.fetchone()
    return int(row[0]) if row else 0


@contextmanager
def spill_folder(data_dir: Path) -> Iterator[Path]:
    """Give this process a folder for what DuckDB leaves on the disk, and remove it, and those of dead processes."""
    root = data_dir / "warehouse" / "spill"
    root.mkdir(parents=True, exist_ok=True)
    with _locked(root):  # nobody removes a folder before it is held
        for left in left_in_spill(data_dir):
            shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
        folder = Path(tempfile.mkdtemp(dir=root))
        held = os.open(folder, os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def left_in_spill(data_dir: Path) -> list[Path]:
    """Return what processes that are gone left in the folder of DuckDB's temporary files."""
    return [path for path in sorted((data_dir / "warehouse" / "spill").glob("*")) if not _is_held(path)]


def bytes_in_spill(data_dir: Path) -> int:
    """Return how many bytes those are."""
    files = (each for left in left_in_spill(data_dir) for each in (left, *left.rglob("*")))
    return sum(file.stat().st_size for file in files if file.is_file())


def _is_held(path: Path) -> bool:
    with suppress(FileNotFoundError, BlockingIOError), _locked(path, fcntl.LOCK_NB):
        return False
    return True


@contextmanager
def _locked(path: Path, more: int = 0) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | more)
        yield
    finally:
        os.close(descriptor)


SHARE = 0.4  # of the available memory: the process takes more than DuckDB counts, and others run beside it
LEAST_BYTES = 850_000_000
AUTO = "auto"


def memory_limit(settings: Settings, system: Path = Path("/")) -> str:
    """Return DuckDB's memory limit as DuckDB reads it; `system` is where /proc and /sys are."""
    configured = settings.warehouse.memory_limit
    if configured != AUTO:
        return configured
    available = min([*_available(system), *_left_by_limits()], default=0)
    return f"{max(LEAST_BYTES, int(available * SHARE)) // 1_000_000}MB"


def _available(system: Path) -> Iterator[int]:
    """Yield the bytes that are left to the machine, and to each kind of control group that limits this process."""
    with suppress(OSError, ValueError, StopIteration):
        lines = (system / "proc/meminfo").read_text(encoding="ascii").splitlines()
        yield int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]) * 1024
    for limit, used in (
        ("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory.current"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        with suppress(OSError, ValueError):  # no such group, or "max": no limit
            yield max(0, int((system / limit).read_text()) - int((system / used).read_text()))


def _left_by_limits() -> Iterator[int]:
    """Yield the bytes that `ulimit -v` and `ulimit -d` leave to this process."""
    with suppress(OSError, ValueError, IndexError):
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()
        for name, used in ((resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])):
            if (most := resource.getrlimit(name)[0]) != resource.RLIM_INFINITY:
                yield max(0, most - int(used) * resource.getpagesize())


class ProcessLimitError(Exception):
    """Too little memory is left to this process to build tables; the message says how much, and what to do."""


def check_process_limits() -> None:
    """Raise ProcessLimitError where limits of this process leave too little memory.

    Threads of libraries that get none hang, or abort the process, and nobody is told.
    """
    left, wanted = min(_left_by_limits(), default=None), LEAST_BYTES / SHARE
    if left is not None and left < wanted:
        raise ProcessLimitError(
            f"there is not enough memory: `ulimit -v` or `ulimit -d` leaves this process {left // 1_000_000:,} MB, and "
            f"it needs {wanted / 1_000_000:,.0f} MB: allow it more, by LimitAS= and LimitDATA= of its service"
        )


# What DuckDB says of a file that it did not get to read, and what helps.
_ADVICE = {
    "could not set lock": "Close it in that program and run again; a release can be read at any time",
    "permission denied": "Let the user of the runs read and write it, and run again",
    "too many open files": "Raise the limit of open files (`ulimit -n`), and run again",
}


class NotOpenedError(Exception):
    """A database file could not be opened, and is not damaged; the message says why and what to do."""


def why_not_opened(error: duckdb.Error) -> str:
    """Return what to do about an error that says nothing about a file's content; "" for any other."""
    said = str(error).lower()
    return next((advice for sign, advice in _ADVICE.items() if sign in said), "")


def not_opened(error: duckdb.Error, file: Path) -> NotOpenedError | None:
    """Return the error of this project for such an error of DuckDB, which names who holds the file."""
    if not (advice := why_not_opened(error)):
        return None
    said = str(error).partition("\n")[0].partition(". ")[0]
    return NotOpenedError(f"{file} cannot be opened, and was left as it is: {said}. {advice}")


def short(error: Exception) -> str:
    """Return the first line of an error of DuckDB, without what it adds of its own."""
    return str(error).partition("\n")[0]
