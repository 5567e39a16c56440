"""Let one run at a time work below a data folder, and tell who it is, or was when it was killed.

Knows nothing of Dagster. The lock is the kernel's (flock): it is gone with its holder, however that one ends. The note
in it is taken away by a holder that ends, so a note without a holder is a killed one's.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import subprocess
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.landing.formats import guard_format

if TYPE_CHECKING:
    from collections.abc import Iterator

# Folders that this process has locked, each with since when the killed run was at work that it goes on with: the
# command holds the lock for the job that it executes.
_held: dict[Path, datetime | None] = {}
RUN = "ordermart run"
JOB = "Dagster run"
# A later run is another night's: it asks for everything anew.
_GOES_ON_WITHIN = timedelta(hours=12)


class RunLockedError(Exception):
    """Another run holds the lock; the message says which."""


@contextmanager
def run_lock(data_dir: Path, what: str) -> Iterator[None]:
    """Hold `data/run.lock` while the block runs; raise RunLockedError at once when another process holds it."""
    if data_dir in _held:
        yield
        return
    data_dir.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(data_dir / "run.lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunLockedError(_holder(os.pread(descriptor, 4096, 0))) from None
        left = os.pread(descriptor, 4096, 0)
        is_run = what.startswith((RUN, JOB))
        killed = _killed(left) if is_run else None
        note = {
            "what": what,
            "pid": os.getpid(),
            "started": _start_of(os.getpid()),
            "host": socket.gethostname(),
            "since": datetime.now(UTC).isoformat(timespec="seconds"),
            "goes_on": killed.isoformat() if killed else None,
        }
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(note).encode(), 0)
        _held[data_dir] = killed
        try:
            guard_format(data_dir)
            yield
        finally:
            del _held[data_dir]
            os.ftruncate(descriptor, 0)
            if not is_run and _killed(left):  # only a run resumes a killed one
                os.pwrite(descriptor, left, 0)
    finally:
        os.close(descriptor)


def holder(data_dir: Path) -> str | None:
    """Return who holds the lock, in a sentence; None when nobody does. Neither locks nor writes.

    The note tells: its process lives, and is the one that wrote it. Of another machine nobody here can say so.
    """
    try:
        note = (data_dir / "run.lock").read_bytes()
        who = json.loads(note)
        is_here = who["host"] == socket.gethostname()
        if is_here and (_start_of(who["pid"]) is None or _start_of(who["pid"]) != who.get("started")):
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return _holder(note)


def resumed_since(data_dir: Path) -> datetime | None:
    """Return when the killed run began that the run under way goes on with; None when it goes on with none."""
    return _held.get(data_dir)


def _start_of(pid: int) -> str | None:
    """Return when a process started, as the kernel or `ps` says it; None when there is no such process."""
    try:
        # The 22nd field; the second one, a name in parentheses, may hold blanks.
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except OSError:
        if Path("/proc/self/stat").exists():
            return None
    shown = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)  # noqa: S603, S607
    return shown.stdout.strip() or None


def _killed(note: bytes) -> datetime | None:
    try:
        who = json.loads(note)
        since = datetime.fromisoformat(who.get("goes_on") or who["since"])
        is_late = datetime.now(UTC) - since > _GOES_ON_WITHIN
        return since if who["what"].startswith((RUN, JOB)) and not is_late else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _holder(note: bytes) -> str:
    try:
        who = json.loads(note)
        return (
            f"another run holds the lock: {who['what']}, process {who['pid']} on {who['host']} since {who['since']}; "
            "wait for it or stop it"
        )
    except (ValueError, KeyError, TypeError):
        return "another run holds the lock; wait for it or stop it"
