"""One word, one meaning: no two classes of `pipelines` share a name."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def class_names(source: str) -> list[str]:
    """Return the names of all classes of a module, without those within a class or a function."""
    return [node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]


def test_no_class_name_stands_for_two_things(project: Path) -> None:
    """Each class name of `pipelines` is that of one class."""
    counts = Counter(
        name for file in (project / "pipelines").rglob("*.py") for name in class_names(file.read_text(encoding="utf-8"))
    )
    assert len(counts) > 200
    assert [name for name, count in counts.items() if count > 1] == []


def test_a_second_class_of_a_name_is_seen() -> None:
    """Two classes of a name in one text are counted as two."""
    assert class_names("class Head: ...\n\n\nclass Tail: ...\n\n\nclass Head: ...\n") == ["Head", "Tail", "Head"]
