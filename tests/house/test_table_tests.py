"""Every table has a test file of its own name in tests/sql/."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def _template(file: Path) -> str:
    named = re.search(r"^-- template: (\w+) of \w+$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return named[1] if named else ""


def untested(project: Path) -> set[str]:
    """Return the tables without a test file of their own name, `test_<table>.py` or `test_<schema>_<table>.py`.

    Those of a template that a kind of document fills have one for all: `test_<template>.py`.
    """
    tests = {path.stem for path in (project / "tests" / "sql").glob("test_*.py")}
    files = [
        path for schema in ("core", "mart", "audit", "workings") for path in (project / "sql" / schema).glob("*.sql")
    ]
    return {
        f"{path.parent.name}.{path.stem}"
        for path in files
        if not {f"test_{name}" for name in (path.stem, f"{path.parent.name}_{path.stem}", _template(path))} & tests
    }


def test_tables_have_a_test_of_their_own_name(project: Path) -> None:
    """No table lacks one."""
    assert untested(project) == set()


def test_table_without_a_test_is_found(tmp_path: Path) -> None:
    """A table without a test is named; one whose test names its schema is not."""
    for path in (
        "sql/core/a.sql",
        "sql/mart/a.sql",
        "sql/mart/b.sql",
        "tests/sql/test_mart_a.py",
        "tests/sql/test_b.py",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    assert untested(tmp_path) == {"core.a"}
