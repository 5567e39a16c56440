"""Fixtures of the inbox: a clock that is moved by hand, a work list on it, and receivers in processes of their own."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from pipelines.inbox.worklist import WorkList

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[2]
SERVE = (
    "import sys; from pipelines.inbox.receiver import serve_webhooks; from pipelines.settings import load_settings; "
    "serve_webhooks(load_settings(sys.argv[1]))"
)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 20, 21, 30, tzinfo=UTC)

    def __call__(self) -> datetime:
        """Return the time."""
        return self.now

    def forward(self, **by: float) -> datetime:
        """Move the clock and return the new time."""
        self.now += timedelta(**by)
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Give a clock that only the test moves."""
    return Clock()


@pytest.fixture
def inbox_path(tmp_path: Path) -> Path:
    """Name the file of an inbox that is not there yet."""
    return tmp_path / "inbox" / "worklist.sqlite"


@pytest.fixture
def work(inbox_path: Path, clock: Clock) -> Iterator[WorkList]:
    """Give an empty work list on the test's clock."""
    with WorkList(inbox_path, clock=clock) as work:
        yield work


class Running:
    """A receiver in a process of its own, and what its inbox holds."""

    def __init__(self, folder: Path, lines: str, variables: dict[str, str]) -> None:
        self.folder = folder
        file = folder / "ordermart.toml"
        limit = "" if "max_per_second" in lines else "max_per_second = 0"
        file.write_text(f"[webhooks]\nport = 0\n{limit}\n{lines}\n", encoding="utf-8")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ORDERMART_")}
        with (folder / "stderr").open("a") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-c", SERVE, str(file)],
                env={**environment, **variables, "PYTHONPATH": str(ROOT)},
                stdout=subprocess.PIPE, stderr=stderr, text=True,
            )  # fmt: skip
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        assert said.startswith("ready on http://127.0.0.1:"), (folder / "stderr").read_text()
        self.url = said.split()[-1]
        self.port = int(self.url.split(":")[2].split("/")[0])
        self.inbox = folder / "data" / "inbox" / "worklist.sqlite"

    def post(self, body: Any, headers: dict[str, str] | None = None) -> httpx.Response:
        """Send one delivery: bytes as they are, anything else as JSON."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        coded = {name: value.encode() for name, value in (headers or {}).items()}
        return httpx.post(self.url, content=content, headers=coded, timeout=30)

    def deliveries(self) -> list[tuple[Any, ...]]:
        """Return topic, kind, id, delivery_id and undecodable of each stored delivery, in order."""
        with closing(sqlite3.connect(self.inbox)) as connection:
            return connection.execute(
                "select topic, kind, id, delivery_id, undecodable from deliveries order by seq"
            ).fetchall()

    def end(self, how: int = signal.SIGTERM) -> int:
        """Send a signal, and return the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(timeout=30)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Start a receiver with lines of [webhooks] and variables; all of a test share one folder."""
    started: list[Running] = []

    def starting(lines: str = "", **variables: str) -> Running:
        started.append(Running(tmp_path, lines, variables))
        return started[-1]

    yield starting
    for running in started:
        running.end(signal.SIGKILL)
