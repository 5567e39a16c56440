"""SQL lives in sql/: what stands in Python is short, pieces that names or files are put into."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

MOST_LINES = 12
# a description may speak of a select: as SQL it begins a line, or follows a bracket or `as`
_SQL = re.compile(
    r"((^|\"|\(|\bas)\s*select|\b(insert into|delete from|create (or replace )?(temp )?(table|view)))\b", re.MULTILINE
)


def long_selects(source: str) -> list[int]:
    """Return the lines at which a text of SQL begins that is longer than it may be; docstrings are none."""
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant | ast.JoinedStr)]
    long = [
        node.lineno
        for node in texts
        if id(node) not in docstrings
        and (node.end_lineno or 0) - node.lineno - 1 > MOST_LINES
        and _SQL.search(ast.get_source_segment(source, node) or "")
    ]
    return sorted(set(long))  # pieces of one text are nodes, too


@pytest.mark.slow
def test_python_holds_short_pieces_of_sql(project: Path) -> None:
    """No module has a longer text of SQL: it is a file of sql/, or a template there."""
    files = sorted((project / "pipelines").rglob("*.py"))
    assert [f"{each.name}:{line}" for each in files for line in long_selects(each.read_text("utf-8"))] == []


@pytest.mark.parametrize(("lines", "found"), [(MOST_LINES, []), (MOST_LINES + 1, [1])])
def test_longer_text_is_found(lines: int, found: list[int]) -> None:
    """A text of one line more is found, whether or not a name is put into it."""
    for letter in ("", "f"):
        source = f'sql = {letter}"""\n' + "select {sql}\n" * lines + '"""\n'
        assert long_selects(source) == found
