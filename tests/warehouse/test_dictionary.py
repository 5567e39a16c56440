"""docs/DICTIONARY.md: generated from the contracts, never stale."""

from __future__ import annotations

import pytest

from pipelines.warehouse import catalogue
from pipelines.warehouse.catalogue.dictionary import FILE, dictionary


def test_the_dictionary_is_not_stale() -> None:
    """The file in docs/ is what the contracts say now."""
    assert FILE.read_text(encoding="utf-8") == dictionary(), "run: python -m pipelines.warehouse.catalogue.dictionary"


@pytest.mark.parametrize("table", catalogue.tables(), ids=lambda table: table.name)
def test_every_column_has_a_meaning(table: catalogue.Table) -> None:
    """A table says its grain and source, and every column of it says in a sentence what it means."""
    assert table.description.startswith("One row per ")
    assert "Source:" in table.description
    assert [column.name for column in table.columns if not column.description.rstrip().endswith((".", "?"))] == []


def test_every_claim_is_tried() -> None:
    """Each check is named by a test of tests/sql/, which plants a fault that it finds."""
    tests = "".join(path.read_text(encoding="utf-8") for path in (FILE.parents[1] / "tests").glob("*/test_*.py"))
    assert [check.name for check in catalogue.checks() if f'"{check.name}"' not in tests] == []
