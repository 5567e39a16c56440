"""A stand-in service and an environment in which the real command runs against it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from pipelines.sandbox.process import Sandbox
from pipelines.vault import new_key_file
from tests.forked import ordermart

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Place:
    """A data folder, a service, and the command run on both."""

    folder: Path
    base_url: str
    ids: Path
    truth: Path
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        """Where everything is written."""
        return self.folder / "data"

    def command(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run `ordermart` with these arguments, as a user would."""
        return ordermart(arguments, {**os.environ, **self.environ, **environ}, timeout=240)

    def open(self) -> duckdb.DuckDBPyConnection:
        """Open the current release as an analyst would."""
        return duckdb.connect(str(self.data / "published" / "current" / "ordermart.duckdb"), read_only=True)

    def all(self, query: str) -> list[tuple[object, ...]]:
        """Return the rows of a query on the current release."""
        with self.open() as db:
            return db.execute(query).fetchall()


def _environ(folder: Path, base_url: str) -> dict[str, str]:
    keys = folder / "keys.json"
    if not keys.exists():
        new_key_file(keys)
    return {
        "ORDERMART_PARTNER__BASE_URL": base_url,
        "ORDERMART_PARTNER__CLIENT_ID": "sandbox",
        "ORDERMART_PARTNER__CLIENT_SECRET": "sandbox",
        "ORDERMART_VAULT__KEY_FILE": str(keys),
        "ORDERMART_DATA__DIR": str(folder / "data"),
        "ORDERMART_MODELS__DIR": str(folder / "models"),  # not the checkout's
    }


@pytest.fixture(scope="session")
def place_of() -> Any:
    """Give `place_of(folder, base_url, **environ)`: a place without a service of ours, its keys made if need be."""

    def make(folder: Path, base_url: str, **environ: str) -> Place:
        nothing = folder / "none"
        return Place(folder, base_url, nothing, nothing, _environ(folder, base_url) | environ)

    return make


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Start a small service with planted faults; its folder holds ids and truth."""
    folder = tmp_path_factory.mktemp("service")
    ids, truth = folder / "ids.txt", folder / "truth.json"
    with Sandbox(orders=600, stores=4, days=10, faults=0.05, ids=ids, truth=truth) as sandbox:
        yield Place(folder, sandbox.base_url, ids, truth)


@pytest.fixture
def place(service: Place, tmp_path: Path) -> Place:
    """Give a fresh data folder beside the service."""
    return Place(tmp_path, service.base_url, service.ids, service.truth, _environ(tmp_path, service.base_url))


@pytest.fixture(scope="session")
def published(service: Place, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Run the whole job once; tests of this fixture only read."""
    folder = tmp_path_factory.mktemp("published")
    place = Place(folder, service.base_url, service.ids, service.truth, _environ(folder, service.base_url))
    done = place.command("run", "--order-ids", str(service.ids))
    assert done.returncode in (0, 3), done.stdout + done.stderr
    return place
