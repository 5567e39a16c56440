"""Let one run at a time work below a data folder, and tell who it is.

Knows nothing of Dagster. The lock is the kernel's (flock): it is gone with its holder, however that one ends.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Folders that this process has locked: the command holds the lock for the job that it executes.
_held: set[Path] = set()


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
        note = {
            "what": what,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(note).encode(), 0)
        _held.add(data_dir)
        try:
            yield
        finally:
            _held.discard(data_dir)
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _holder(note: bytes) -> str:
    try:
        who = json.loads(note)
        return (
            f"another run holds the lock: {who['what']}, process {who['pid']} on {who['host']} since {who['since']}; "
            "wait for it or stop it"
        )
    except (ValueError, KeyError, TypeError):
        return "another run holds the lock; wait for it or stop it"
