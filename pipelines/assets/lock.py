"""Let one run at a time work below a data folder, and tell who it is, or was when it was killed.

Knows nothing of Dagster. The lock is the kernel's (flock): it is gone with its holder, however that one ends. The note
in it is taken away by a holder that ends, so a note without a holder is a killed one's.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
        killed = _killed(os.pread(descriptor, 4096, 0)) if what.startswith((RUN, JOB)) else None
        note = {
            "what": what,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": datetime.now(UTC).isoformat(timespec="seconds"),
            "goes_on": killed.isoformat() if killed else None,
        }
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(note).encode(), 0)
        _held[data_dir] = killed
        try:
            yield
        finally:
            del _held[data_dir]
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def holder(data_dir: Path) -> str | None:
    """Return who holds the lock, in a sentence; None when nobody does."""
    try:
        with run_lock(data_dir, "a look at the lock"):
            return None
    except RunLockedError as error:
        return str(error)


def resumed_since(data_dir: Path) -> datetime | None:
    """Return when the killed run began that the run under way goes on with; None when it goes on with none."""
    return _held.get(data_dir)


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
