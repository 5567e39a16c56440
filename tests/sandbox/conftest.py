"""A stand-in that runs for a whole test folder, and the way into it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from tests.service.process import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ROOT = "/v1/partner_developers"


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the running stand-in writes its ids and its truth."""
    return tmp_path_factory.mktemp("sandbox")


@pytest.fixture(scope="session")
def sandbox(files: Path) -> Iterator[StandIn]:
    """A stand-in with a small world and some faults."""
    with StandIn(ids=files / "ids", truth=files / "truth", orders=300, stores=6, faults=0.1) as running:
        yield running


def log_in(base_url: str) -> httpx.Client:
    """Return a client that sends a token."""
    credentials = {"client_id": "sandbox", "client_secret": "sandbox"}
    answer = httpx.post(f"{base_url}{ROOT}/authenticate", json=credentials, trust_env=False)
    headers = {"Authorization": f"Bearer {answer.json()['access_token']}"}
    return httpx.Client(base_url=base_url, headers=headers, trust_env=False)


@pytest.fixture(scope="session")
def enter() -> Callable[[str], httpx.Client]:
    """The function that logs in at a base address."""
    return log_in


@pytest.fixture
def client(sandbox: StandIn) -> Iterator[httpx.Client]:
    """A client of the running stand-in that sends a token."""
    with log_in(sandbox.base_url) as inside:
        yield inside


@pytest.fixture
def stranger(sandbox: StandIn) -> Iterator[httpx.Client]:
    """A client of the running stand-in without a token."""
    with httpx.Client(base_url=sandbox.base_url, trust_env=False) as outside:
        yield outside
