"""Every table has a test file of its own name in tests/sql/."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def untested(project: Path) -> set[str]:
    """Return the tables without a test file of their own name, `test_<table>.py` or `test_<schema>_<table>.py`."""
    tests = {path.stem for path in (project / "tests" / "sql").glob("test_*.py")}
    files = [path for schema in ("core", "mart", "audit") for path in (project / "sql" / schema).glob("*.sql")]
    return {
        f"{path.parent.name}.{path.stem}"
        for path in files
        if not {f"test_{path.stem}", f"test_{path.parent.name}_{path.stem}"} & tests
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
