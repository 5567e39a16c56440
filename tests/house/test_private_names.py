"""Private names of libraries that the code uses stand in one list, with reasons: each may change in any release."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PUBLIC = {"_replace", "_make", "_asdict", "_fields", "_exit"}  # of named tuples, and of `os`
_OURS = "# noqa: SLF001 -- its own module"


def listed(project: Path) -> set[tuple[str, str]]:
    """Return file and name of each row of the list in the architecture."""
    text = (project / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = text.split("\n## Private names of libraries\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \| (.+) \|$", section, re.MULTILINE)
    assert all(len(reason) > len("because") for *_, reason in rows)
    return {(file, name) for file, name, _ in rows}


def private(source: str) -> Iterator[str]:
    """Yield the private names of other code that a file imports, runs with `-m`, reads or sets."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{each.name}" for each in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = [node.value] if re.fullmatch(r"[a-z]\w*(\.\w+)+", node.value) else []
        elif isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            is_own = isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}
            if not is_own and node.attr not in _PUBLIC and not lines[node.lineno - 1].endswith(_OURS):
                yield node.attr
        for name in names:
            if re.search(r"\._(?!_)", f".{name}") and not name.startswith(("pipelines.", "_thread")):
                yield name


@pytest.mark.slow
def test_private_names_of_libraries_are_listed(project: Path) -> None:
    """The list in the architecture has each private name that is used, and no other."""
    files = sorted((project / "pipelines").rglob("*.py"))
    found = {(str(file.relative_to(project)), name) for file in files for name in private(file.read_text("utf-8"))}
    assert found == listed(project)


def test_a_private_name_is_found_however_it_is_used() -> None:
    """Imported, as a module, run, read or set; our own names, and public ones in spite of their name, are none."""
    assert set(private("from dagster._core.storage import x\nimport a._b")) == {"dagster._core.storage.x", "a._b"}
    assert set(private("run('-m', 'dagster._daemon')\nsession._retry = session()._other = 1")) == {
        "dagster._daemon",
        "_retry",
        "_other",
    }
    assert set(private("self._x = cls._y = row._replace(a=1)\nfrom pipelines._x import y\nx.__dict__")) == set()
