"""The tests that run by default show every promise, and tests know no more modules than they did."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MODULES = 130  # of `pipelines` that tests import at most; lower it whenever there are fewer


def promised(project: Path) -> set[int]:
    """Return the numbers of the promises in the architecture."""
    text = (project / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = text.split("\n## Promises\n")[1].split("\n## ")[0]
    return {int(number) for number in re.findall(r"^(\d+)\. \*\*", section, re.MULTILINE)}


def shown(source: str) -> set[int]:
    """Return the promises that tests of a file are marked with, but for slow tests."""
    if "promise(" not in source:
        return set()
    tree = ast.parse(source)
    if any(isinstance(node, ast.Assign) and "mark.slow" in ast.unparse(node) for node in tree.body):
        return set()
    found = set()
    for node in tree.body:
        marks = [ast.unparse(mark) for mark in node.decorator_list] if isinstance(node, ast.FunctionDef) else []
        if not {"pytest.mark.slow", "pytest.mark.long"} & set(marks):
            found |= {int(number) for mark in marks for number in re.findall(r"^pytest\.mark\.promise\((\d+)\)$", mark)}
    return found


def imported(files: Iterable[Path], project: Path) -> set[str]:
    """Return the modules of `pipelines` that files import."""
    return {module for file in files for module in _imported(ast.parse(file.read_text(encoding="utf-8")), project)}


def _imported(tree: ast.AST, project: Path) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.partition(".")[0] == "pipelines")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "pipelines":
            folder = project / (node.module or "").replace(".", "/")
            init = folder / "__init__.py"
            exported = init.read_text(encoding="utf-8").rpartition("__all__ =")[2] if init.exists() else ""
            for each in node.names:
                is_module = (folder / f"{each.name}.py").exists() or (folder / each.name / "__init__.py").exists()
                is_module = is_module and f'"{each.name}"' not in exported
                yield f"{node.module}.{each.name}" if is_module else str(node.module)


def test_the_default_tests_show_every_promise(project: Path) -> None:
    """For each promise of the architecture a test that is not slow is marked with its number, and with no other."""
    found = {number for file in (project / "tests").rglob("test_*.py") for number in shown(file.read_text("utf-8"))}
    assert found == promised(project) != set()


def test_a_promise_that_only_a_slow_test_shows_is_missed() -> None:
    """A mark on a slow test, or in a slow file, does not count."""
    test = "@pytest.mark.promise(3)\ndef test_it() -> None: ...\n"
    assert shown(test) == {3}
    assert shown("@pytest.mark.slow\n" + test) == set()
    assert shown("pytestmark = pytest.mark.slow\n" + test) == set()


@pytest.mark.slow
def test_tests_import_no_more_modules(project: Path) -> None:
    """Tests use what packages export: each other module that they know makes moving its file dear."""
    modules = imported((project / "tests").rglob("*.py"), project)
    assert len(modules) <= MODULES, f"{len(modules)} modules: use names that packages export"
