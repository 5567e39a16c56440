"""A stand-in that can be made to fail, a data folder beside it, and the job run on both."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow.parquet as pq
import pytest

from pipelines.inbox.worklist import WorkList
from pipelines.landing.raw_folder import raw_files
from pipelines.settings import load_settings
from pipelines.vault import new_key_file
from tests.forked import ordermart
from tests.ingested import ingest
from tests.service.process import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from pipelines.inbox.store import WorkListEntry
    from pipelines.ingest.loop import Ingested
    from pipelines.settings import Settings

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Place:
    """A data folder and the service that it is filled from."""

    folder: Path
    sandbox: StandIn
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        """Where everything is written."""
        return self.folder / "data"

    @property
    def ids(self) -> list[int]:
        """Every order that the service has."""
        return [int(line) for line in (self.folder / "ids").read_text().split()]

    def set(self, **settings: object) -> None:
        """Set settings of [partner] by name."""
        self.environ.update({f"ORDERMART_PARTNER__{name.upper()}": str(value) for name, value in settings.items()})

    def settings(self) -> Settings:
        """Return the settings in force."""
        return load_settings(environ=self.environ)

    def ask(self, ids: list[int]) -> None:
        """Put orders on the work list."""
        with WorkList(self.data / "inbox" / "worklist.sqlite") as work:
            work.add("orders", ids, why="a test")

    def pull(self, kind: Any = "orders") -> Ingested:
        """Fetch and land documents that are due."""
        return ingest(self.settings(), kind)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start `ordermart` with these arguments in a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "pipelines.cli", *arguments],
            cwd=ROOT,
            env={**os.environ, **self.environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def command(self, *arguments: str) -> tuple[int, str]:
        """Run `ordermart` to its end; return its exit code and all that it said."""
        done = ordermart(arguments, {**os.environ, **self.environ}, timeout=240)
        return done.returncode, done.stdout + done.stderr

    def verdicts(self, kind: str = "orders") -> dict[int, list[str]]:
        """Return what was observed of each id, in the order of landing."""
        found: dict[int, list[str]] = {}
        for file in raw_files(self.data, kind).observations:
            table = pq.read_table(file.path, columns=["id", "verdict"])
            for id_, verdict in zip(*(column.to_pylist() for column in table.columns), strict=True):
                found.setdefault(id_, []).append(verdict)
        return found

    def dead_letters(self) -> list[WorkListEntry]:
        """Return the ids that failed for good."""
        with WorkList(self.data / "inbox" / "worklist.sqlite") as work:
            return work.dead_letters()

    def failing(self) -> list[int]:
        """Return the orders that had no usable response, and are asked for again."""
        with WorkList(self.data / "inbox" / "worklist.sqlite") as work:
            return work.failing("orders")

    def tries(self, kind: str = "orders") -> Counter[int]:
        """Return how often the service was asked for each id."""
        return Counter({int(id_): no for id_, no in self.sandbox.served()["tries"].get(kind, {}).items()})

    def all(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query on the current release."""
        file = self.data / "published" / "current" / "ordermart.duckdb"
        with duckdb.connect(str(file), read_only=True) as db:
            return db.execute(query).fetchall()


@contextmanager
def running(folder: Path, **flags: object) -> Iterator[Place]:
    """Start a stand-in of these flags, with a fresh data folder beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    keys = folder / "keys.json"
    new_key_file(keys)
    with StandIn(ids=folder / "ids", **flags) as sandbox:
        environ = {
            "ORDERMART_PARTNER__BASE_URL": sandbox.base_url,
            "ORDERMART_PARTNER__CLIENT_ID": "sandbox",
            "ORDERMART_PARTNER__CLIENT_SECRET": "sandbox",
            "ORDERMART_VAULT__KEY_FILE": str(keys),
            "ORDERMART_DATA__DIR": str(folder / "data"),
        }
        yield Place(folder, sandbox, environ)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Place]]:
    """Start stand-ins that end with the test."""
    from contextlib import ExitStack  # noqa: PLC0415

    with ExitStack() as stack:

        def start(name: str = "place", **flags: object) -> Place:
            return stack.enter_context(running(tmp_path / name, **flags))

        yield start


@pytest.fixture(scope="session")
def running_service() -> Callable[..., AbstractContextManager[Place]]:
    """Give `running`, for places that several tests of a module share."""
    return running
