"""Shared by the vault's tests: keys, a vault in a fresh folder, and a way to look at its file."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.vault import Keys, Vault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def keys() -> Keys:
    """Return fresh secrets."""
    return Keys(os.urandom(32), os.urandom(32))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the vault's file will be."""
    return tmp_path / "vault" / "vault.sqlite"


@pytest.fixture
def vault(path: Path, keys: Keys) -> Iterator[Vault]:
    """Return an open, empty vault."""
    with Vault(path, keys) as opened:
        yield opened


@pytest.fixture
def sql(path: Path) -> Callable[..., list[Any]]:
    """Return a function that runs a statement on the vault's file from outside."""

    def run(statement: str, *values: Any) -> list[Any]:
        connection = sqlite3.connect(path)
        try:
            with connection:
                return connection.execute(statement, values).fetchall()
        finally:
            connection.close()

    return run
