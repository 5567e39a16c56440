"""The run lock: one run at a time per data folder.

Knows nothing of Dagster. It is a kernel lock (flock), released when its holder ends, however that happens. The holder
writes a note into the file and clears it when it ends; a note without a holder was left by a killed or stopped run.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from pipelines.clock import utc_now
from pipelines.durable import keep_private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# The folders that this process has locked, each with the start of the killed run that it resumes, if any. A command
# holds the lock for the job that it executes in its own process.
_held: dict[Path, datetime | None] = {}
RUN = "ordermart run"
JOB = "Dagster run"
RESTORE = "ordermart restore"
A_NIGHT_WAITS = timedelta(minutes=30)
_RESUMABLE_FOR = timedelta(hours=12)  # a later run is the next night's: it requests everything again
_A_MOMENT = timedelta(seconds=1)  # for those who only look who holds it
_LOOK_AGAIN_SECONDS = 0.1


class RunLockedError(Exception):
    """Another run holds the lock; the message says which."""


@contextmanager
def run_lock(
    data_dir: Path, holder: str, *, wait: timedelta = _A_MOMENT, say: Callable[[str], None] = lambda _: None
) -> Iterator[None]:
    """Hold `data/run.lock` while the block runs; raise RunLockedError if another process holds it for all of `wait`.

    `holder` describes the run to others; `say` gets one sentence if it has to wait. The same process can enter the
    block again.
    """
    if data_dir in _held:
        yield
        return
    keep_private(data_dir)
    descriptor = os.open(data_dir / "run.lock", os.O_RDWR | os.O_CREAT, 0o666)  # less umask: one group may close
    try:
        _take(descriptor, wait, say)
        left = os.pread(descriptor, 4096, 0)
        is_run = holder.startswith((RUN, JOB))
        resumed = _killed_since(left) if is_run else None
        note = {
            "holder": holder,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": utc_now().isoformat(timespec="seconds"),
            "resumed_since": resumed.isoformat() if resumed else None,
        }
        from pipelines.landing.disk import naming_a_full_disk  # noqa: PLC0415 -- slow: a status only asks who holds it
        from pipelines.landing.formats import guard_format  # noqa: PLC0415 -- the same

        with naming_a_full_disk(data_dir):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(note).encode(), 0)
        _held[data_dir] = resumed
        stays = False
        try:
            if holder != RESTORE:  # which starts over if it was killed
                guard_format(data_dir)
            yield
        except KeyboardInterrupt:
            stays = is_run  # as after a kill: the next run resumes this one
            raise
        finally:
            del _held[data_dir]
            if not stays:
                os.ftruncate(descriptor, 0)
            if not is_run and _killed_since(left):  # only a run resumes a killed one
                os.pwrite(descriptor, left, 0)
    finally:
        os.close(descriptor)


def _take(descriptor: int, wait: timedelta, say: Callable[[str], None]) -> None:
    began, has_said = time.monotonic(), False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            by = _holder_in(os.pread(descriptor, 4096, 0))
            if time.monotonic() - began >= wait.total_seconds():
                raise RunLockedError(f"{by}; wait for it or stop it") from None
            if not has_said:
                say(f"{by}; this one waits for it, at most {wait.total_seconds() / 60:g} minutes")
                has_said = True
            time.sleep(_LOOK_AGAIN_SECONDS)
        else:
            return


def lock_holder(data_dir: Path) -> str | None:
    """Return a sentence that names the lock's holder; None if it is free. Writes nothing.

    The kernel tells, whoever wrote the note and where: a free lock is taken for a moment, shared with others who look.
    """
    try:
        descriptor = os.open(data_dir / "run.lock", os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder_in(os.pread(descriptor, 4096, 0))
    finally:
        os.close(descriptor)
    return None


def resumed_since(data_dir: Path) -> datetime | None:
    """Return the start of the killed run that the current run resumes; None if it resumes none."""
    return _held.get(data_dir)


def _killed_since(note: bytes) -> datetime | None:
    try:
        killed = json.loads(note)
        since = datetime.fromisoformat(killed["resumed_since"] or killed["since"])
        is_resumable = killed["holder"].startswith((RUN, JOB)) and utc_now() - since <= _RESUMABLE_FOR
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return since if is_resumable else None


def _holder_in(note: bytes) -> str:
    try:
        by = json.loads(note)
        who = f": {by['holder']}, process {by['pid']} on {by['host']} since {by['since']}"
    except (ValueError, KeyError, TypeError):
        who = ""
    return f"another run holds the lock{who}"
