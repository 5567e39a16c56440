"""A package imports only packages upstream of it; only the wiring imports Dagster."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Upstream first. A package may import itself and those before it.
ROOMS = (
    "clock durable inventory listening resources literals record settings vault partner notify inbox "
    "landing ledger settlements warehouse read ingest finance privacy backup examining report run assets definitions"
).split()
# The same within a package, for its modules and sub-packages.
WITHIN = {
    "warehouse": (
        "contracts storage limited catalogue inputs history evidence rows increment building own release verify"
    ).split()
}
# Outside the order: what each of them may import, anywhere.
BESIDE = {"sandbox": {"listening", "resources", "settings"}, "engines": {"settings"}}
# Entry points may import every package, and nothing but the command imports them. The command answers `--help` at once,
# so at the top of its modules it imports only these: the flags of the sandbox, which import only typer.
ENTRANCES = {"cli", "demo"}
AT_ONCE = {"cli": {"sandbox"}}
MAY_KNOW_DAGSTER = {"assets", "definitions"}


def imports(source: str, package: str) -> Iterator[tuple[int, str, bool]]:
    """Yield each import of a module: line, full name of the imported module, and whether it happens at import.

    `package` is the dotted package that the module stands in, for relative imports.
    """
    tree = ast.parse(source)
    late = set(after_import(tree))
    for node in ast.walk(tree):
        yield from ((node.lineno, name, node not in late) for name in names(node, package.split(".")))


def names(node: ast.AST, package: list[str]) -> Iterator[str]:
    """Give the full names that a statement or call imports."""
    if isinstance(node, ast.Import):
        yield from (name.name for name in node.names)
    elif isinstance(node, ast.ImportFrom):
        above = package[: len(package) - node.level + 1] if node.level else []
        origin = ".".join([*above, *([node.module] if node.module else [])])
        yield from (f"{origin}.{name.name}" for name in node.names)
    elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
        first = node.args[0] if node.args else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            yield first.value


def after_import(tree: ast.Module) -> Iterator[ast.AST]:
    """Give what does not run when the module is imported: bodies of functions, and what only type checkers read."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from ast.walk(node)
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield from (inner for statement in node.body for inner in ast.walk(statement))


def complaint(room: str, wanted: str, *, at_import: bool) -> str:
    """Return why package `room` may not import package `wanted`; "" if it may."""
    if room == wanted:
        return ""
    if room in ENTRANCES:
        wrong = at_import and wanted not in AT_ONCE.get(room, {wanted})
        return "may be imported only inside the function that needs it" if wrong else ""
    if room in BESIDE:
        return "" if wanted in BESIDE[room] else f"{room} may import only {', '.join(sorted(BESIDE[room]))}"
    if wanted in ENTRANCES:
        return "is an entrance: nothing imports it"
    if wanted in BESIDE:
        # The build is given an engine by the wiring; the stand-in is another program.
        return "" if wanted == "engines" and room in ROOMS[ROOMS.index("warehouse") :] else "stands beside the stream"
    return "" if ROOMS.index(wanted) < ROOMS.index(room) else "is downstream"


def complaint_within(root: Path, room: str, part: str, wanted: str) -> str:
    """Return why a part of a package may not import a part of the same; "" if it may, or the name is of no part."""
    order, place = WITHIN.get(room, []), root / "pipelines" / room / wanted
    is_part = wanted and (place.is_dir() or place.with_suffix(".py").exists())
    if not order or not is_part or part in ("__init__", wanted):
        return ""
    for name in (part, wanted):
        if name not in order:
            return f"{name} has no place in the direction within {room}"
    return "" if order.index(wanted) < order.index(part) else f"{wanted} is downstream"


def violations(root: Path) -> list[str]:
    """Return every import below `root`/pipelines that breaks the direction."""
    known = {*ROOMS, *BESIDE, *ENTRANCES}
    found = []
    for file in sorted((root / "pipelines").rglob("*.py")):
        parts = file.relative_to(root).with_suffix("").parts
        if parts == ("pipelines", "__init__"):
            continue
        room, place = parts[1], file.relative_to(root).as_posix()
        if room not in known:
            found.append(f"{place}: {room} is a package without a place in the direction")
            continue
        for line, name, at_import in imports(file.read_text(encoding="utf-8"), ".".join(parts[:-1])):
            top, _, rest = name.partition(".")
            if top.startswith("dagster") and room not in MAY_KNOW_DAGSTER:
                found.append(f"{place}:{line}: imports dagster")
            elif top == "pipelines" and (wanted := rest.split(".")[0]) in known:
                said = complaint(room, wanted, at_import=at_import)
                if said:
                    found.append(f"{place}:{line}: {wanted} {said}")
                inner = rest.split(".")[1] if wanted == room and "." in rest else ""
                if len(parts) > 2 and (said := complaint_within(root, room, parts[2], inner)):
                    found.append(f"{place}:{line}: {said}")
    return found


@pytest.mark.slow
def test_rooms_import_upstream_only(project: Path) -> None:
    """No file in pipelines/ imports a package downstream of its own, and only the wiring imports Dagster."""
    assert violations(project) == []


@pytest.mark.parametrize(
    ("file", "source", "found"),
    [
        ("vault/bodies.py", "from pipelines.partner import PartnerClient", "partner is downstream"),
        ("vault/bodies.py", "import pipelines.warehouse.building.build", "warehouse is downstream"),
        ("vault/bodies.py", "from pipelines import landing", "landing is downstream"),
        ("vault/bodies.py", "from .. import landing", "landing is downstream"),
        ("vault/bodies.py", "from ..landing.gate import judge", "landing is downstream"),
        ("vault/deep/keys.py", "from ...landing import gate", "landing is downstream"),
        ("vault/bodies.py", "def late():\n    from pipelines.landing import gate", "landing is downstream"),
        ("vault/bodies.py", "if TYPE_CHECKING:\n    from pipelines.landing import gate", "landing is downstream"),
        ("vault/bodies.py", "import importlib\nimportlib.import_module('pipelines.landing')", "landing is downstream"),
        ("settings.py", "from pipelines.vault import open_vault", "vault is downstream"),
        ("assets/raw.py", "import pipelines.definitions", "definitions is downstream"),
        ("warehouse/build.py", "import dagster as dg", "imports dagster"),
        ("warehouse/build.py", "from dagster_shared.record import record", "imports dagster"),
        ("cli.py", "def run():\n    import dagster", "imports dagster"),
        ("cli.py", "from pipelines.warehouse import build", "only inside the function that needs it"),
        ("sandbox/app.py", "from pipelines.vault import open_vault", "may import only listening, resources, settings"),
        ("landing/gate.py", "from pipelines.sandbox import world", "sandbox stands beside the stream"),
        ("report/page.py", "from pipelines.cli import app", "cli is an entrance"),
        ("helpers.py", "", "helpers is a package without"),
        ("warehouse/rows/session.py", "from pipelines.warehouse import building", "building is downstream"),
        ("warehouse/rows/session.py", "from pipelines.warehouse.building import full", "building is downstream"),
        ("warehouse/rows/session.py", "from pipelines.warehouse.drawer import x", "drawer has no place"),
    ],
)
def test_a_planted_violation_is_found(tmp_path: Path, file: str, source: str, found: str) -> None:
    """Each way of importing against the direction is seen."""
    path = tmp_path / "pipelines" / file
    path.parent.mkdir(parents=True)
    path.write_text(source, encoding="utf-8")
    for part in ("building", "drawer"):
        (tmp_path / "pipelines" / "warehouse" / part).mkdir(parents=True)
    (said,) = violations(tmp_path)
    assert said.startswith(f"pipelines/{file}:")
    assert found in said


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("vault/bodies.py", "from pipelines.settings import Settings\nfrom pipelines.vault import encrypt"),
        ("assets/raw.py", "import dagster\nfrom pipelines.report import page"),
        ("definitions.py", "from pipelines.assets import raw"),
        ("cli.py", "def run():\n    from pipelines.assets import night"),
        ("demo.py", "from pipelines.report import summary\nfrom pipelines.sandbox import process"),
        ("cli.py", "if TYPE_CHECKING:\n    from pipelines.landing import LoadSummary"),
        ("sandbox/app.py", "from pipelines.settings import load_settings"),
        ("warehouse/build.py", "from pipelines.engines import here"),
        ("warehouse/building/full.py", "from pipelines.warehouse.rows import views"),
        ("warehouse/building/full.py", "from pipelines.warehouse import publish"),
        ("__init__.py", ""),
    ],
)
def test_an_import_upstream_is_none(tmp_path: Path, file: str, source: str) -> None:
    """An import along the direction is not complained of."""
    path = tmp_path / "pipelines" / file
    path.parent.mkdir(parents=True)
    path.write_text(source, encoding="utf-8")
    assert violations(tmp_path) == []
