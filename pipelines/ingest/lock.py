"""The run lock: one run at a time per data folder.

It is a kernel lock (flock), released when its holder ends, however that happens. The holder writes a note into the
file, for others who look, and clears it when it ends.
"""

import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

from pipelines.clock import utc_now
from pipelines.durable import keep_private, naming_a_full_disk
from pipelines.inventory import InventoryError, record_stores
from pipelines.record import Exit
from pipelines.warehouse.storage import check_process_limits

RESTORE = "ordermart restore"
_held: set[Path] = set()  # the folders that this process has locked
A_MOMENT = timedelta(seconds=1)  # for those who only look who holds it
_LOOK_AGAIN_SECONDS = 0.1


class RunLockedError(Exception):
    """Another run holds the lock; the message says which."""

    exit_code = Exit.LOCKED


@contextmanager
def run_lock(
    data_dir: Path, holder: str, *, wait: timedelta = A_MOMENT, say: Callable[[str], None] = lambda _: None
) -> Iterator[None]:
    """Hold `data/run.lock` while the block runs; raise RunLockedError if another process holds it for all of `wait`.

    `holder` describes the run to others; `say` gets one sentence if it has to wait. The same process can enter the
    block again.
    """
    if data_dir in _held:
        yield
        return
    check_process_limits()
    keep_private(data_dir)
    descriptor = os.open(data_dir / "run.lock", os.O_RDWR | os.O_CREAT, 0o666)  # less umask: one group may close
    try:
        _take(descriptor, wait, say)
        since = utc_now().isoformat(timespec="seconds")
        note = {"holder": holder, "pid": os.getpid(), "host": socket.gethostname(), "since": since}
        from pipelines.landing.data_folder import guard_format  # noqa: PLC0415 -- slow: a status only asks who holds it

        with naming_a_full_disk(data_dir):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(note).encode(), 0)
        _held.add(data_dir)
        try:
            if holder != RESTORE:  # which starts over if it was killed
                guard_format(data_dir)
            yield
        finally:
            with suppress(InventoryError, OSError):
                record_stores(data_dir)
            _held.discard(data_dir)
            os.ftruncate(descriptor, 0)
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

    The kernel tells, not the note: a free lock is taken for a moment, shared with others who look. Raise
    PermissionError where this user may not look.
    """
    try:
        descriptor = os.open(data_dir / "run.lock", os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder_in(os.pread(descriptor, 4096, 0))
    finally:
        os.close(descriptor)
    return None


def _holder_in(note: bytes) -> str:
    try:
        by = json.loads(note)
        who = f": {by['holder']}, process {by['pid']} on {by['host']} since {by['since']}"
    except (ValueError, KeyError, TypeError):
        who = ""
    return f"another run holds the lock{who}"
