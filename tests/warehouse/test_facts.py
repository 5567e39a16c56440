"""What contracts say is kept on disk, so that a run need not import them, and is never stale."""

from __future__ import annotations

import ast
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec
import pytest

from pipelines.resources import PACKAGE
from pipelines.warehouse import catalogue
from pipelines.warehouse.catalogue import facts as kept

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Reads what a build wants of every table, and names the slow libraries that this imported.
READ = """
import sys
import pipelines.partner, pipelines.warehouse
from pipelines.warehouse.catalogue import tables
assert all(table.columns and table.key is not None for table in tables())
print(*sorted({"pandas", "pandera", "aiohttp"} & sys.modules.keys()))
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give an empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kept.facts.cache_clear()
    yield tmp_path / "ordermart"
    kept.facts.cache_clear()


def test_kept_facts_are_those_of_the_contracts(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second process reads what the first one kept; the same, without a contract."""
    first = msgspec.to_builtins(kept.facts())
    assert [each.name.partition("-")[0] for each in cache.iterdir()] == ["contracts"]
    kept.facts.cache_clear()
    monkeypatch.setattr(kept, "_models", None)
    assert msgspec.to_builtins(kept.facts()) == first
    assert first["mart.orders"]["columns"][0] == {
        "name": "order_id",
        "type": "BIGINT",
        "nullable": False,
        "description": catalogue.table("mart.orders").columns[0].description,
        "adds_up": True,
    }


def test_another_contract_has_other_facts(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept counts for the very files that it was made from."""
    kept.facts()
    more = tmp_path / "more.py"
    more.write_text("# another\n", encoding="utf-8")
    files = [*kept.sources(), more]
    monkeypatch.setattr(kept, "sources", lambda: files)
    kept.facts.cache_clear()
    kept.facts()
    assert len(list(cache.iterdir())) == 2


def test_fingerprint_covers_all_that_contracts_import() -> None:
    """A contract imports nothing of the project whose change would leave kept facts as they are."""
    files = kept.sources()
    imported = {
        node.module
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pipelines")
    }
    covered = {".".join(("pipelines", *file.relative_to(PACKAGE).with_suffix("").parts)) for file in files}
    assert imported
    assert imported <= covered


def test_catalogue_needs_no_slow_library() -> None:
    """Once the facts are kept, a process that builds and requests nothing imports neither Pandera nor aiohttp."""
    kept.facts()
    done = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
