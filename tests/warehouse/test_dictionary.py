"""docs/DICTIONARY.md: generated from the contracts, never stale."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from pipelines.warehouse import catalogue


def test_generated_documents_are_not_stale() -> None:
    """Dictionary, questions and contract in docs/ are what sql/ says now."""
    documents = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "tables.py"))["documents"]()
    stale = [file.name for file, text in documents.items() if file.read_text(encoding="utf-8") != text]
    assert not stale, "run: make dictionary"


@pytest.mark.parametrize("table", catalogue.tables(), ids=lambda table: table.name)
def test_every_column_has_a_meaning(table: catalogue.Table) -> None:
    """A table says its grain and source, and every column of it says in a sentence what it means."""
    assert table.description.startswith("One row per ")
    assert "Source:" in table.description
    assert [column.name for column in table.columns if not column.description.rstrip().endswith((".", "?"))] == []


def test_every_claim_is_tried() -> None:
    """Each check is named by a test of tests/sql/, which plants a fault that it finds."""
    tests = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parents[1].glob("*/test_*.py"))
    assert [check.name for check in catalogue.checks() if f'"{check.name}"' not in tests] == []
