"""`ordermart dev` killed with everything below it while a scheduled run fetches: the next tick runs all the same."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
import pytest

from pipelines.assets.home import dagster_home

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Place

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.skipif(not Path("/proc").exists(), reason="reads /proc"),
    pytest.mark.slow,
    pytest.mark.timeout(1200),
]


@contextlib.contextmanager
def serving(place: Place) -> Iterator[None]:
    """Run `ordermart dev` with a tick a minute; kill it with everything below it at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    environ = {**os.environ, **place.environ, "ORDERMART_SCHEDULE__CRON": "* * * * *"}
    command = [sys.executable, "-m", "pipelines.cli", "dev", "--port", port]
    mark = f"ORDERMART_DATA__DIR={place.data}".encode()
    with subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        try:
            yield
        finally:
            while pids := having(mark):
                for pid in pids:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                time.sleep(0.1)


def having(mark: bytes) -> list[int]:
    """Return the living processes that have this in their environment: those that this test started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            is_zombie = (folder / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
            if not is_zombie and mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return [pid for pid in found if pid != os.getpid()]


def await_status(place: Place, wanted: str) -> list[str]:
    """Wait until a run has this status; return all statuses, the latest first."""
    deadline = time.monotonic() + 420
    dagster_home(place.data)
    while True:
        with dg.DagsterInstance.get() as instance:
            found = [run.status.value for run in instance.get_runs()]
        if wanted in found:
            return found
        assert time.monotonic() < deadline, found
        time.sleep(0.5)


def test_the_tick_after_a_kill_runs(serve: Callable[..., Place]) -> None:
    """Everything is killed in mid-run; started again, it marks that run as failed, and the next tick lands all."""
    place = serve(orders=200, stores=2, days=3, trouble={"only": ["orders"], "latency_seconds": 20})
    place.ask(place.ids)
    with serving(place):
        await_status(place, "STARTED")
        while not place.tries():
            time.sleep(0.2)
    await_status(place, "STARTED")
    place.sandbox.set_faults()
    with serving(place):
        statuses = await_status(place, "SUCCESS")
    assert statuses.count("FAILURE") == 1
    assert "STARTED" not in statuses[statuses.index("SUCCESS") :]
    assert {row[0] for row in place.all("select order_id from core.orders")} == set(place.ids)
