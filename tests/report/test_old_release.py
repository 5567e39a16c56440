"""Commands that read a release of older code, before the first run of this version, say so in one sentence."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = [
    ("questions",),
    ("explain", "order", "1"),
    ("settlements", "list"),
    ("audit-pack", "--period", "2026-11", "--out", "{}/pack"),
    ("reconcile",),
    ("breaks", "list"),
    ("close", "2026-11-01", "--check"),
]


@pytest.fixture(scope="module")
def old(world: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Give the world with a release that lacks a column of each table and view."""
    folder = tmp_path_factory.mktemp("old") / "world"
    shutil.copytree(world.folder, folder, symlinks=True)
    made = type(world).at(folder)
    file = (folder / "data" / "published" / "current").resolve() / "ordermart.duckdb"
    file.parent.chmod(0o755)
    file.chmod(0o644)
    with duckdb.connect(str(file)) as db:
        tables = db.execute("select schema_name, table_name from duckdb_tables() where not internal").fetchall()
        for schema, table in tables:
            if schema in {"mart", "audit", "workings", "core"}:
                db.execute(f'drop table "{schema}"."{table}" cascade')
                db.execute(f'create table "{schema}"."{table}" (of_an_older_version integer)')
    return made


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_release_of_older_code_is_named(old: Any, command: tuple[str, ...], tmp_path: Path) -> None:
    """Exit code 3, and the command that publishes another."""
    done = old.command(*(each.format(tmp_path) for each in command))
    assert done.returncode == 3, done.stdout + done.stderr
    assert done.stderr.strip().endswith("is of an older version; run `ordermart run`")
    assert "Traceback" not in done.stderr
