"""Run Dagster's pages, its daemon and the webhook receiver together, and end them together.

Each is a process group of its own, so that SIGTERM and SIGINT end all of it, as systemd and Docker stop a service.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.assets.relay import Relay
from pipelines.durable import keep_private

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PATIENCE_SECONDS = 7.0  # after SIGTERM, before SIGKILL
_LOOK_SECONDS = 0.2
_PARENT_DIED = 1  # PR_SET_PDEATHSIG of prctl(2)


class DevError(Exception):
    """The pages cannot be started; the message says why and what to do."""


class Processes:
    """Named child processes, each the leader of a process group."""

    def __init__(self) -> None:
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._relay = Relay()

    def start(self, name: str, command: list[str], environ: Mapping[str, str]) -> None:
        """Start one; on Linux it is told to end when this process is killed."""
        self._running[name] = subprocess.Popen(  # noqa: S603 -- our own command
            command,
            env=dict(environ),
            stdout=self._relay.out,
            stderr=self._relay.err,
            start_new_session=True,
            preexec_fn=_end_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509 -- before any thread
        )

    def wait(self, stop: threading.Event) -> tuple[str, int] | None:
        """Wait until one of them ends, and return its name and exit code; None once `stop` is set.

        What they write is passed on meanwhile. No other one can be started.
        """
        self._relay.start()
        while not stop.wait(_LOOK_SECONDS):
            for name, process in self._running.items():
                if (code := process.poll()) is not None:
                    return name, code
        return None

    def end(self) -> None:
        """End all of them and what they started: SIGTERM, then SIGKILL for whatever is left."""
        self._signal(signal.SIGTERM)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        for process in self._running.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
        self._signal(signal.SIGKILL)
        for process in self._running.values():
            process.wait()
        self._relay.close()

    def _signal(self, number: signal.Signals) -> None:
        for process in self._running.values():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)


def run_together(processes: Processes) -> int:
    """Wait for SIGTERM, SIGINT or the end of any process, then end the others; return the exit code.

    0 after a signal; 1 when a process ended by itself, which is said on standard error.
    """
    stop = threading.Event()
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        ended = processes.wait(stop)
    finally:
        processes.end()
        for number, handler in before.items():
            signal.signal(number, handler)
    if ended is None:
        return 0
    sys.stderr.write(f"{ended[0]} ended by itself with exit code {ended[1]}; the others were stopped.\n")
    return 1


@contextlib.contextmanager
def only_one(data_dir: Path) -> Iterator[None]:
    """Hold `data/dev.lock` while the block runs; raise DevError, naming the holder, when another process does."""
    keep_private(data_dir)
    with (data_dir / "dev.lock").open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise DevError(
                f"`ordermart dev` already runs on {data_dir}{_said_by(file.read())}; stop it first"
            ) from None
        file.truncate(0)
        file.write(json.dumps({"pid": os.getpid()}))
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def check_port(host: str, port: int) -> None:
    """Raise DevError when the port is taken, naming the process that listens on it where that can be seen."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            by = listener(port)
            raise DevError(f"port {port} on {host} cannot be used: {error.strerror}{by}; choose --port") from None


def listener(port: int) -> str:
    """Return `, held by process N (name)` for the process that listens on a TCP port; "" where nobody may look."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(table).read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                    inodes.add(f"socket:[{fields[9]}]")
    for folder in Path("/proc").glob("[0-9]*") if inodes else ():
        with contextlib.suppress(OSError):
            if any(str(entry.readlink()) in inodes for entry in (folder / "fd").iterdir()):
                return f", held by process {folder.name} ({(folder / 'comm').read_text(encoding='utf-8').strip()})"
    return ""


def _said_by(note: str) -> str:
    try:
        return f" as process {json.loads(note)['pid']}"
    except (ValueError, KeyError, TypeError):
        return ""


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PARENT_DIED, signal.SIGTERM)
