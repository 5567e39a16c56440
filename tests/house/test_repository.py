"""What git may not track, and how long a file may be."""

from __future__ import annotations

import ast
import itertools
import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

# Written backwards, so that this file does not hold what it looks for.
REGISTRIES = [host[::-1] for host in ("gro.ipyp", "gro.detsohnohtyp", "gro.sjmpn", "gro.naibed", "gro.gnalog")]
PLACES = re.compile(r"(?<![\w.~:<{}-])/(work|root|home|Users)/\w|file:///\w")
GENERATED = {".parquet", ".duckdb", ".sqlite", ".wal", ".db", ".xlsx", ".pyc", ".whl"}
LARGEST = 1_000_000
LONGEST = 700


def faults(file: Path) -> list[str]:
    """Return the faults of a tracked file."""
    found = []
    if any(end.split("-")[0] in GENERATED for end in file.suffixes):  # SQLite's own: .sqlite-wal, .sqlite-shm
        found.append("is generated data")
    if file.stat().st_size > LARGEST:
        found.append("is larger than 1 MB")
    text = file.read_text(encoding="utf-8", errors="replace")
    places = ((line_no, PLACES.search(line)) for line_no, line in enumerate(text.splitlines(), 1))
    return [
        *found,
        *(f"names the package registry {host}" for host in REGISTRIES if host in text),
        *(f"line {line_no} names a place of one machine: {place.group()}…" for line_no, place in places if place),
    ]


def test_tracked_files_belong_in_a_repository(project: Path, tracked: list[Path]) -> None:
    """No tracked file is generated, large, or names a registry or a place of one machine."""
    wrong = {str(file.relative_to(project)): found for file in tracked if (found := faults(file))}
    assert wrong == {}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.lock", "see https://" + REGISTRIES[0] + "/simple", "package registry"),
        ("a.txt", "see " + REGISTRIES[1], "package registry"),
        ("a.py", 'PATH = "/' + 'work/main"', "line 1 names a place"),
        ("a.md", "one\nrun /" + "home/me/x", "line 2 names a place"),
        ("a.cfg", "file:" + "///srv/wheels", "line 1 names a place"),
        ("a.parquet", "PAR1", "generated data"),
        ("vault.sqlite-wal", "", "generated data"),
        ("warehouse.duckdb.wal", "", "generated data"),
        ("large.txt", "x" * (LARGEST + 1), "larger than 1 MB"),
    ],
)
def test_a_planted_fault_is_found(tmp_path: Path, name: str, text: str, said: str) -> None:
    """Each kind of file that does not belong is seen."""
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    assert any(said in fault for fault in faults(file))


@pytest.mark.parametrize("text", ["http://127.0.0.1/root/x", "~/work/x", "GET {base_url}/home/1", "workspace/home/x"])
def test_an_address_is_no_place_of_a_machine(tmp_path: Path, text: str) -> None:
    """Paths of a service and paths below a folder of the reader's are left alone."""
    file = tmp_path / "a.md"
    file.write_text(text, encoding="utf-8")
    assert faults(file) == []


def test_files_are_short(project: Path) -> None:
    """A Python file that is longer asks to be two."""
    files = [*(project / "pipelines").rglob("*.py"), project / "bootstrap.py"]
    lengths = {file.relative_to(project).as_posix(): file.read_text("utf-8").count("\n") for file in files}
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


def test_rooms_are_named_for_what_they_do(project: Path) -> None:
    """There is no drawer for what has no place."""
    drawers = {"utils", "util", "helpers", "helper", "common", "base", "misc"}
    names = {path.stem: path for path in (project / "pipelines").rglob("*") if "__pycache__" not in path.parts}
    assert drawers & names.keys() == set()


def test_names_of_modules_are_unique(project: Path) -> None:
    """A module is found by its name alone."""
    names = sorted(path.name for path in (project / "pipelines").rglob("*.py") if not path.stem.startswith("__"))
    assert [one for one, other in itertools.pairwise(names) if one == other] == []


@pytest.mark.slow
def test_modules_say_what_they_are_for(project: Path) -> None:
    """Every module of pipelines/ begins with its docstring."""
    silent = [
        file.relative_to(project).as_posix()
        for file in (project / "pipelines").rglob("*.py")
        if not ast.get_docstring(ast.parse(file.read_text("utf-8")))
    ]
    assert silent == []
