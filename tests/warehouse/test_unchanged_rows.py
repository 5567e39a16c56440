"""All rows of a small, various world are as they were when rows.txt was written.

This notices a change; it is no judgement. Where the change was meant, write the file again by
`python -m tests.unchanged`, and look at which tables it names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unchanged.compared import ANY, COMMAND, difference, kept, made

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
@pytest.mark.duckdb2
def test_rows_are_as_they_were(tmp_path: Path) -> None:
    """Every column of every table, of a release's own tables, and of every select on altered rows has its hash."""
    expected = kept()
    found = dict(made(tmp_path / "world"))
    differs = [text for name, columns in found.items() if (text := difference(name, columns, expected.get(name)))]
    differs += [f"{name} is gone" for name in expected.keys() - found.keys()]
    assert not differs, "\n".join(["rows differ; if that was meant: " + COMMAND, *differs])


def test_difference_names_the_columns() -> None:
    """A changed hash and another count of rows are named; what depends on the order of rows is not compared."""
    kept_ = {"rows": "3", "a": "1f", "b": ANY}
    assert difference("later core.orders", {"rows": "3", "a": "1f", "b": "2f"}, kept_) == ""
    said = difference("later core.orders", {"rows": "4", "a": "2f", "b": "2f"}, kept_)
    assert said == "later core.orders (4 rows, not 3): a"
    assert difference("later core.new", {"rows": "4"}, None) == "later core.new is not in the file"
