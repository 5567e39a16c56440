"""Compare what a changed copy of the checkout makes of the unchanged world with the copy's own rows before.

What differs here differs in tests/warehouse/test_unchanged_rows.py; this ends at the first difference.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from pipelines.settings import load_settings
from pipelines.warehouse.building.build import warehouse_file
from tests.mutations.runner import TEXTS, WORLD
from tests.unchanged import story
from tests.unchanged.altered import altered, altered_results, opened, results, selects
from tests.unchanged.compared import COMMAND, difference, kept, made

ALTERED, ALIKE = "altered.duckdb", "alike.json"
_opened: list[Any] = []
_connections: list[Any] = []
_files: dict[Path, str] = {}  # each file of SQL as it is, and
_selects: dict[str, str] = {}  # each select


def keep_world(root: Path) -> None:
    """Make the world once, its altered rows, and the texts of all selects, for `any_select_differs`.

    End the process where its rows differ already: that would kill every mutant.
    """
    world = root / WORLD
    expected = kept()
    if wrong := [text for name, found in made(world) if (text := difference(name, found, expected.get(name)))]:
        raise SystemExit("\n".join([f"rows differ before anything was mutated: {COMMAND}", *wrong]))
    settings = load_settings(world / "ordermart.toml", story.ENVIRON)
    with altered(settings, keep=world / ALTERED) as con:
        (world / TEXTS).write_text(json.dumps(dict(selects(con))), encoding="utf-8")
    # Selects of tables that give the build's rows, if run on the build's rows.
    with opened(settings, warehouse_file(world / "data")) as con:
        alike = [
            name for name, found in altered_results(con) if not difference(name, found, expected.get(_plain(name)))
        ]
    (world / ALIKE).write_text(json.dumps(alike), encoding="utf-8")


def open_world(root: Path) -> None:
    """Open the altered rows, for `any_select_differs` in forks: one thread reads them, and a fork has it, too."""
    world = root / WORLD
    settings = load_settings(world / "ordermart.toml", story.ENVIRON)
    for file in (world / ALTERED, warehouse_file(settings.data_dir)):
        _opened.append(opening := opened(settings, file))
        _connections.append(opening.__enter__())  # until the process ends
    _files.update({path: path.read_text(encoding="utf-8") for path in (root / "sql").rglob("*.sql")})
    _selects.update(selects(_connections[0]))


def any_select_differs(root: Path) -> bool:
    """Tell whether a select whose text is another gives another result on the altered rows; if none is, any select."""
    world, expected = root / WORLD, kept()
    con, plain = _connections
    if changed := _changed(con):
        alike = json.loads((world / ALIKE).read_text(encoding="utf-8"))
        both = {name: sql for name, sql in changed.items() if name in alike}
        return any(difference(name, found, expected.get(name)) for name, found in results(con, changed)) or any(
            difference(name, found, expected.get(_plain(name))) for name, found in results(plain, both)
        )
    with opened(load_settings(world / "ordermart.toml", story.ENVIRON), world / ALTERED) as con:
        return any(difference(name, found, expected.get(name)) for name, found in altered_results(con))


def _changed(con: Any) -> dict[str, str]:
    """Return the selects whose text is another now; contracts are read again only where no select is a file's text."""
    for path, before in _files.items():
        old, new = (_body(path, text) for text in (before, path.read_text(encoding="utf-8")))
        if old != new and (found := {name: sql for name, sql in _selects.items() if old in sql}):
            return {name: sql.replace(old, new) for name, sql in found.items()}
    _forget()
    return {name: sql for name, sql in selects(con) if sql != _selects.get(name)}


def _body(path: Path, text: str) -> str:
    """Return what runs of a file: an example begins with a question."""
    return (text.partition("\n")[2] if path.parent.name == "examples" else text).strip()


def _plain(name: str) -> str:
    """Return under which name the file has what a select gives of rows that were not altered."""
    return f"later {name.removeprefix('select ')}" if name.startswith("select ") else f"plain {name}"


def _forget() -> None:
    """Forget what was read of files."""
    for name, module in list(sys.modules.items()):
        if name.startswith("pipelines."):
            for each in vars(module).values():
                if callable(clear := getattr(each, "cache_clear", None)):
                    clear()


def any_differs(root: Path) -> bool:
    """Tell whether anything of the world differs."""
    folder = Path(tempfile.mkdtemp(prefix="rows-"))
    expected = kept()
    try:
        return any(difference(name, found, expected.get(name)) for name, found in made(folder / "world"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
