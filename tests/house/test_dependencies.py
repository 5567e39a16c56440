"""Declared, locked and imported packages are the same."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

requirements = pytest.importorskip("packaging.requirements", reason="packaging is not installed")

# Declared, though no module imports them.
NOT_IMPORTED = {
    "altair": "the notebook docs/analyses.ipynb draws with it",
    "dagster-webserver": "the pages of `dg dev`",
    "dagster-dg-cli": "the command `dg`",
    "tzdata": "timezones where the system has none",
    "standardwebhooks": "signatures of the webhook receiver",
    "pytest-timeout": "the limit of every test",
    "pytest-xdist": "tests on two cores",
    "ruff": "the linter",
    "mypy": "the type checker",
    "setuptools": "builds the project",
    "pip": "for those who develop; the set-up uses the one outside",
}


NAMES_AN_INDEX = re.compile(r"(?m)^\s*--(?!hash=)|://| @ ")


def canonical(name: str) -> str:
    """Return the name as registries compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(project: Path) -> dict[str, str]:
    """Return what pyproject.toml asks for: name to version range."""
    tree = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]
    asked = [*tree["dependencies"], *tree["optional-dependencies"]["dev"]]
    return {canonical((r := requirements.Requirement(text)).name): str(r.specifier) for text in asked}


def locked(lock: Path) -> Iterator[tuple[str, str, str, int]]:
    """Give each pin of a lock: name, version, environment marker, number of hashes."""
    for entry in re.split(r"\n(?=\S)", lock.read_text("utf-8")):
        if match := re.match(r"([\w.-]+)==(\S+)(?: ; (.+?))? \\\n", entry):
            yield canonical(match[1]), match[2], match[3] or "", entry.count("--hash=sha256:")


def imported(folder: Path) -> set[str]:
    """Return the top-level packages that the Python files below a folder import."""
    found = set()
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {name.name.split(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
    return found - sys.stdlib_module_names


def test_the_lock_holds_what_is_declared(project: Path) -> None:
    """Every declared range has a pin inside it; every pin has hashes."""
    running, tools = (list(locked(project / name)) for name in ("requirements.lock", "requirements-dev.lock"))
    pins = [*running, *tools]
    assert len(running) > 50
    assert not {name for name, *_ in running} & {name for name, *_ in tools}
    assert [name for name, _, _, hashes in pins if not hashes] == []
    for name, version_range in declared(project).items():
        versions = [version for pin, version, _, _ in pins if pin == name]
        assert versions, f"{name} is not locked: make lock"
        specifier = requirements.Requirement(f"{name}{version_range}").specifier
        assert all(version in specifier for version in versions), f"{name}: make lock"


def test_the_lock_serves_every_python_we_name(project: Path) -> None:
    """A package has one pin for every Python from 3.11 to 3.14 on Linux, and not two."""
    markers = pytest.importorskip("packaging.markers")
    for version in ("3.11", "3.12", "3.13", "3.14"):
        here = {"python_version": version, "python_full_version": f"{version}.0", "sys_platform": "linux"}
        pins = [
            name
            for name, _, marker, _ in locked(project / "requirements.lock")
            if not marker or markers.Marker(marker).evaluate(here)
        ]
        assert sorted(set(pins)) == sorted(pins)
        assert {"numpy", "pandas", "duckdb", "dagster"} <= set(pins)


def test_the_overlay_changes_duckdb_alone(project: Path) -> None:
    """The second lane differs from the first in DuckDB 2.0 and in nothing else."""
    assert [(name, version) for name, version, _, _ in locked(project / "requirements-duckdb2.lock")] == [
        ("duckdb", "2.0.1")
    ]


def test_the_lock_of_ray_adds_to_the_first_alone(project: Path) -> None:
    """What Ray needs besides its own lock is in the first one, which it changes nothing of; its version is declared."""
    pins = {name: (version, hashes) for name, version, _, hashes in locked(project / "requirements-ray.lock")}
    tree = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]
    assert tree["optional-dependencies"]["ray"] == [f"ray=={pins['ray'][0]}"]
    assert all(hashes for _, hashes in pins.values())
    first = {name for name, _, _, _ in locked(project / "requirements.lock")}
    assert not first & pins.keys()
    needed = "click filelock jsonschema packaging protobuf pyyaml requests".split()  # as Ray 2.60 declares, and msgpack
    assert {*needed, "msgpack"} <= first | pins.keys()


def test_the_locks_name_no_index(project: Path) -> None:
    """A lock works with whatever index pip is set up for."""
    for lock in project.glob("requirements*.lock"):
        assert not NAMES_AN_INDEX.search(lock.read_text("utf-8"))
    for line in ("--find-links wheels", "a==1 @ file", "# at https" + "://host/simple"):
        assert NAMES_AN_INDEX.search(f"a==1 \\\n    --hash=sha256:0\n{line}\n")


def test_what_runs_is_locked_apart_from_tools(project: Path) -> None:
    """The lock of those who run it has what is declared for running, with the extras of commands, and no tool."""
    tree = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]
    extras = tree["optional-dependencies"]
    names = {name for name, *_ in locked(project / "requirements.lock")}
    wanted = [*tree["dependencies"], *extras["mcp"], *extras["postgres"]]
    assert {canonical(requirements.Requirement(text).name) for text in wanted} <= names
    assert not names & {"pytest", "pytest-xdist", "hypothesis", "mypy", "ruff", "polars", "altair", "pip"}


@pytest.mark.slow
def test_what_is_declared_is_imported(project: Path) -> None:
    """Nothing is asked for that no code uses, but for the tools with a reason."""
    owners = importlib.metadata.packages_distributions()
    used = {
        canonical(owner)
        for folder in ("pipelines", "tests", "benchmarks")
        for package in imported(project / folder)
        for owner in owners.get(package, [])
    }
    assert sorted(declared(project).keys() - used - NOT_IMPORTED.keys()) == []


@pytest.mark.slow
def test_what_is_imported_is_declared(project: Path) -> None:
    """No room leans on a package that only another package asks for."""
    owners = importlib.metadata.packages_distributions()
    ours = {"pipelines"}
    tree = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]
    extras = {requirements.Requirement(text).name for text in tree["optional-dependencies"]["ray"]}
    strangers = {
        package
        for package in imported(project / "pipelines") - ours
        if not {canonical(owner) for owner in owners.get(package, [])} & declared(project).keys()
        and package not in extras
    }
    assert strangers == set()
