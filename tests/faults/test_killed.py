"""A run killed while it fetches resumes, alone, by its command, or by the next tick of `ordermart dev`."""

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

from pipelines.assets.dev import dagster_home

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Place

ROOT = Path(__file__).resolve().parents[2]
IN_FLIGHT = 16
_PULL = (
    "from tests.ingested import ingest; from pipelines.settings import load_settings\ningest(load_settings(), 'orders')"
)


# What `ordermart run` fetches, without the build.
_NIGHT = """
from pipelines.record import FETCHING, NIGHT
from pipelines.run.under_way import RunRequest, begun
from pipelines.settings import load_settings
settings = load_settings()
with begun(settings, NIGHT, RunRequest(order_ids=str(settings.data_dir.parent / "ids"))) as way:
    for kind in FETCHING:
        way.do(kind)
"""


def start(place: Place, script: str) -> subprocess.Popen[bytes]:
    """Start a script in a process of its own, with the place's settings."""
    return subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, env={"PYTHONPATH": ".", **place.environ})


def kill_after(place: Place, process: subprocess.Popen[bytes] | subprocess.Popen[str], requests: int) -> None:
    """Kill a process with SIGKILL once the service was asked for so many orders."""
    deadline = time.monotonic() + 60
    while sum(place.tries().values()) < requests:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.wait()


@pytest.mark.slow
def test_killed_ingestion_repeats_only_requests_in_flight(serve: Callable[..., Place]) -> None:
    """Killed three times in the middle of loads, ingestion repeats no more than its requests in flight."""
    place = serve(orders=2600, stores=4, days=5, trouble={"latency_seconds": 0.02})
    place.ask(place.ids)
    for no, requests in enumerate((150, 900, 2300), 1):
        with start(place, _PULL) as process:
            kill_after(place, process, requests)
        tries = place.tries()
        assert sum(tries.values()) - len(tries) <= IN_FLIGHT * (no - 1)
    place.pull()
    assert sum(place.tries().values()) <= len(place.ids) + 3 * IN_FLIGHT
    assert place.verdicts() == {id_: ["accepted"] for id_ in place.ids}
    assert not list((place.data / "vault").glob("spool-*"))


@pytest.mark.slow
def test_same_request_resumes_a_killed_run(serve: Callable[..., Place]) -> None:
    """A killed run, given the same ids again, repeats only the requests in flight."""
    place = serve(orders=400, stores=4, days=5, trouble={"latency_seconds": 0.05})
    with start(place, _NIGHT) as process:
        kill_after(place, process, 200)
    with start(place, _NIGHT) as process:
        assert process.wait() == 0
    again = {kind: sum(place.tries(kind).values()) - len(place.tries(kind)) for kind in ("stores", "menus", "orders")}
    assert again == {"stores": 0, "menus": 0, "orders": again["orders"]}
    assert again["orders"] <= IN_FLIGHT
    assert place.verdicts() == {id_: ["accepted"] for id_ in place.ids}


@pytest.mark.long
def test_run_after_a_finished_one_requests_again(serve: Callable[..., Place]) -> None:
    """Ids of a finished run are requested again when they are given again."""
    place = serve(orders=20, stores=1, days=3)
    for _ in range(2):
        code, said = place.command("run", "--order-ids", str(place.folder / "ids"))
        assert code == 0, said
    assert set(place.tries().values()) == set(place.tries("menus").values()) == {2}


@pytest.mark.long
def test_same_command_resumes_a_killed_run(serve: Callable[..., Place]) -> None:
    """`ordermart run` killed and given again publishes every order, hardly one of them asked for twice."""
    place = serve(orders=400, stores=4, days=5, trouble={"latency_seconds": 0.05})
    command = ("run", "--order-ids", str(place.folder / "ids"))
    with place.start(*command) as process:
        kill_after(place, process, 200)
    code, said = place.command(*command)
    assert code == 0, said
    assert sum(place.tries().values()) <= len(place.ids) + IN_FLIGHT
    assert {row[0] for row in place.all("select order_id from core.orders")} == set(place.ids)


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


# Kills of a night of `ordermart dev`, healed by the next, are shown in tests/assets/test_dagster_pages.py, too.
@pytest.mark.skipif(not Path("/proc").exists(), reason="reads /proc")
@pytest.mark.long
@pytest.mark.timeout(1200)
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
