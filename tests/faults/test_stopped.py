"""A run stopped by a signal: what was received is committed, its record says so, the next run resumes it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.record import runs

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Place

ROOT = Path(__file__).resolve().parents[2]
IN_FLIGHT = 16


def await_requests(place: Place, process: subprocess.Popen[str], requests: int) -> None:
    """Wait until the service was asked for so many orders."""
    deadline = time.monotonic() + 60
    while sum(place.tries().values()) < requests:
        assert process.poll() is None, "it ended before it could be stopped"
        assert time.monotonic() < deadline
        time.sleep(0.01)


def verdicts(place: Place) -> list[str]:
    """Return how the runs ended, the latest first."""
    return [run.run_state for run in reversed(runs(place.data))]


def stop(place: Place, number: signal.Signals, requests: int) -> tuple[int, str, float]:
    """Send a signal to a run in the middle; return its exit code, what it said, and the seconds it took to end."""
    with place.start("run", "--order-ids", str(place.folder / "ids")) as process:
        await_requests(place, process, requests)
        began = time.monotonic()
        process.send_signal(number)
        said = "".join(process.communicate(timeout=60))
        return process.returncode, said, time.monotonic() - began


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_sigterm_commits_what_landed_and_the_next_run_resumes(serve: Callable[..., Place]) -> None:
    """SIGTERM ends a run with 143 and one line; nothing received is lost, and the same command resumes it."""
    place = serve(orders=400, stores=4, days=5, trouble={"latency_seconds": 0.05})
    code, said, seconds = stop(place, signal.SIGTERM, 200)
    assert (code, said.count("\n")) == (143, 1), said
    assert "stopped by SIGTERM" in said
    assert seconds < 25
    assert verdicts(place) == ["stopped"]
    assert len(place.verdicts()) >= 200 - IN_FLIGHT
    assert not list((place.data / "vault").glob("spool-*"))
    place.sandbox.set_faults()
    code, said = place.command("run", "--order-ids", str(place.folder / "ids"))
    assert code == 0, said
    assert verdicts(place) == ["good", "stopped"]
    assert sum(place.tries().values()) <= len(place.ids) + IN_FLIGHT
    assert place.verdicts() == {id_: ["accepted"] for id_ in place.ids}
    assert {row[0] for row in place.all("select order_id from core.orders")} == set(place.ids)


@pytest.mark.slow
def test_ctrl_c_ends_with_130(serve: Callable[..., Place]) -> None:
    """SIGINT during an outage ends the run at once, with 130; the waits between attempts do not delay it."""
    place = serve(orders=60, stores=2, days=3, trouble={"only": ["orders"], "rate_503": 1, "retry_after": 30})
    code, said, seconds = stop(place, signal.SIGINT, 3)
    *warnings, last = said.splitlines()
    assert (code, last.startswith("ordermart: stopped by SIGINT")) == (130, True), said
    # The circuit breaker may have opened before the signal came.
    assert all(line.startswith("the partner service keeps failing: ") for line in warnings), said
    assert seconds < 25
    assert verdicts(place) == ["stopped"]


# A run as Dagster's daemon starts it: with Dagster's own signal handlers.
_SCHEDULED = """
from pipelines.assets.dev import dagster_home
from pipelines.definitions import wiring
from pipelines.settings import load_settings
import dagster as dg
settings = load_settings()
dagster_home(settings.data_dir)
with dg.DagsterInstance.get() as instance:
    wiring(settings).resolve_job_def("night").execute_in_process(instance=instance, raise_on_error=False)
"""


@pytest.mark.slow
def test_a_scheduled_run_that_is_terminated_keeps_what_it_received(serve: Callable[..., Place]) -> None:
    """A signal that Dagster itself handles, at whatever line, costs no answer but those in flight."""
    place = serve(orders=400, stores=4, days=5, trouble={"latency_seconds": 0.05})
    place.ask(place.ids)
    with subprocess.Popen(
        [sys.executable, "-c", _SCHEDULED],
        cwd=ROOT,
        env={"PYTHONPATH": ".", **place.environ},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        await_requests(place, process, 200)
        process.terminate()
        process.wait(60)
    place.sandbox.set_faults()
    place.pull()
    assert sum(place.tries().values()) <= len(place.ids) + IN_FLIGHT
    assert place.verdicts() == {id_: ["accepted"] for id_ in place.ids}


# A run of the command, in which the build, or a task of maintenance, takes as long as the test wants.
_SLOW = """
import os, pathlib, duckdb
from pipelines.run import steps
def slow(*arguments, **options):
    pathlib.Path(os.environ["UNDER_WAY"]).touch()
    duckdb.sql("select count(*) from range(10_000_000_000) as a, range(1_000) as b").fetchall()
if os.environ["WHERE"] == "build":
    steps.build_and_record = slow
else:
    steps._TASKS[next(iter(steps._TASKS))] = slow
from pipelines.cli import main
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("where", ["build", "maintenance"])
def test_a_signal_in_a_query_ends_the_run(serve: Callable[..., Place], where: str) -> None:
    """It ends with 143, too; stopped in the build it publishes nothing, in maintenance no task is said to fail."""
    place = serve(orders=5, stores=1, days=3)
    under_way = place.folder / "under-way"
    command = [sys.executable, "-c", _SLOW, "run", "--order-ids", str(place.folder / "ids")]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={"PYTHONPATH": ".", "UNDER_WAY": str(under_way), "WHERE": where, **place.environ},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        deadline = time.monotonic() + 60
        while not under_way.exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.terminate()
        said = process.communicate(timeout=60)[1]
    assert (process.returncode, said.count("\n")) == (143, 1), said
    assert verdicts(place) == ["stopped"]
    assert len(place.verdicts()) == 5
    assert (place.data / "published" / "current").exists() == (where == "maintenance")
