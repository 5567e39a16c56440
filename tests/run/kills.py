"""Kill runs, of the command and of Dagster, at chosen points, and see that each is told once, with its step.

A point is a step, and a share of the time that the step took in a whole run before: the process gets SIGKILL when its
record says that the step began and that time has passed.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg

from pipelines.assets.dev import dagster_home
from pipelines.definitions import wiring
from pipelines.record import NIGHT, Run, runs
from pipelines.run.steps import steps_of
from pipelines.sandbox.process import Sandbox
from pipelines.settings import load_settings
from pipelines.vault import new_key_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
BY = ("command", "Dagster")
_SECONDS = 120
_OF_DAGSTER = """
import dagster as dg
from pipelines.assets.dev import dagster_home
from pipelines.definitions import wiring
from pipelines.settings import load_settings
settings = load_settings()
dagster_home(settings.data_dir)
config = {"resources": {"run": {"config": {"order_ids": str(settings.data_dir.parent / "ids")}}}}
with dg.DagsterInstance.get() as instance:
    job = wiring(settings).resolve_job_def("night")
    job.execute_in_process(instance=instance, raise_on_error=False, run_config=config)
"""


@dataclass
class Place:
    """A data folder, the settings to run it with, and what was sent to the webhook."""

    folder: Path
    environ: dict[str, str]
    sent: list[str]
    took: dict[str, float] = field(default_factory=dict)  # seconds of each step

    @property
    def data(self) -> Path:
        """Where runs write."""
        return self.folder / "data"

    def settings(self) -> Settings:
        """Return the settings."""
        return load_settings(environ=self.environ)

    def start(self, by: str) -> subprocess.Popen[bytes]:
        """Start a night, as cron does or as Dagster does."""
        command = ["-m", "pipelines.cli", "run", "--order-ids", str(self.folder / "ids")]
        return subprocess.Popen(
            [sys.executable, *(command if by == "command" else ["-c", _OF_DAGSTER])],
            cwd=ROOT,
            env={**os.environ, **self.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def whole_run(self) -> None:
        """Run a night to its end, and note how long each step took."""
        with self.start("command") as process:
            process.wait(_SECONDS)
        run = runs(self.data)[-1]
        assert run.run_state == "good", run
        self.took = {step.name: ((step.ended_at or step.started_at) - step.started_at).total_seconds()
                     for step in run.steps}  # fmt: skip


@contextlib.contextmanager
def place() -> Iterator[Place]:
    """Give a place with a small service and a webhook for alarms."""
    sent: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Keep the text of an alarm."""
            sent.append(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["text"])
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    with tempfile.TemporaryDirectory() as name, Sandbox(orders=30, stores=2, days=3, ids=Path(name) / "ids") as sandbox:
        new_key_file(Path(name) / "keys.json")
        environ = {
            "PARTNER__BASE_URL": sandbox.base_url,
            "PARTNER__CLIENT_ID": "sandbox",
            "PARTNER__CLIENT_SECRET": "sandbox",
            "VAULT__KEY_FILE": str(Path(name) / "keys.json"),
            "DATA__DIR": str(Path(name) / "data"),
            "VERIFY__SECONDS": "1",
            "NOTIFY__WEBHOOK_URL": f"http://127.0.0.1:{server.server_address[1]}/",
            "NOTIFY__MIN_FREE_GB": "0",
        }
        yield Place(Path(name), {f"ORDERMART_{key}": value for key, value in environ.items()}, sent)
    server.shutdown()
    server.server_close()


def killed(place: Place, by: str, step: str, share: float) -> Run | None:
    """Kill a night in a step; return its record as the kill left it, None if the step was over before."""
    known = {run.id for run in runs(place.data)}
    deadline = time.monotonic() + _SECONDS
    with place.start(by) as process:
        while process.poll() is None and time.monotonic() < deadline:
            begun = [run for run in runs(place.data) if run.id not in known]
            if begun and begun[0].steps and begun[0].steps[-1].name == step:
                time.sleep(place.took.get(step, 0) * share)
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.002)
        process.kill()
    (run,) = (run for run in runs(place.data) if run.id not in known)
    return run if run.ended_at is None else None


def complaints(place: Place, by: str, left: Run) -> Iterator[str]:
    """Yield the faults of the report on a killed run, by the next look: twice, as a minute later again."""
    place.sent.clear()
    (place.data / "notify" / "alarms.json").unlink(missing_ok=True)  # of the point before
    states = []
    environ = {**os.environ, **place.environ, "PYTHONPATH": str(ROOT)}
    for _ in range(2):
        if by == "Dagster":
            yield from _as_dagster_looks(place, left)
        command = [sys.executable, "-m", "pipelines.cli", "status", "--json"]
        shown = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, check=False)
        states.append(json.loads(shown.stdout))
    told = f"was killed {left.where};"
    if sum(told in text and not text.startswith("Over") for text in place.sent) != 1:
        yield f"sent {place.sent}"
    for state in states:
        if state["last_run"]["outcome"] != "killed" or told not in state["last_run"]["sentence"]:
            yield f"status says {state['last_run']}"
    if f"was killed {left.where}" not in (place.data / "published" / "morning.html").read_text(encoding="utf-8"):
        yield "the page does not say so"
    if left.pid != runs(place.data)[-1].pid or not runs(place.data)[-1].is_told:
        yield f"the last record is {runs(place.data)[-1]}"


def _as_dagster_looks(place: Place, left: Run) -> Iterator[str]:
    dagster_home(place.data)
    with dg.DagsterInstance.get() as instance:
        wiring(place.settings()).resolve_sensor_def("recorded_runs")(dg.build_sensor_context(instance=instance))
        run = instance.get_run_by_id(left.dagster_run_id)
        if run is None or run.status != dg.DagsterRunStatus.FAILURE:
            yield f"Dagster has the run as {run and run.status}"


def points(count: int, seed: int) -> list[tuple[str, str, float]]:
    """Return who runs the night, the step, and how far in it: in turn by the command and by Dagster, in all steps."""
    chance = random.Random(seed)
    names = steps_of(NIGHT)
    return [(by, names[number % len(names)], chance.random() * 0.8) for number in range(count) for by in BY]


def examined(place: Place, by: str, step: str, share: float) -> tuple[str, list[str]]:
    """Kill at a point; return where the run ended, "" if the step was over before, and what was told wrong."""
    left = killed(place, by, step, share)
    return (left.where, list(complaints(place, by, left))) if left else ("", [])
