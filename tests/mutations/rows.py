"""Compare what a changed copy of the checkout makes of the unchanged world with what the copy itself made of it before.

What differs here differs in tests/warehouse/test_unchanged_rows.py; this ends at the first difference.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from pipelines.settings import load_settings
from tests.unchanged import story
from tests.unchanged.altered import altered, altered_results, opened, selects
from tests.unchanged.compared import COMMAND, difference, kept, made

WORLD, ALTERED, TEXTS = "unchanged-world", "altered.duckdb", "selects.json"


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


def any_select_differs(root: Path) -> bool:
    """Tell whether a select whose text is another gives another result on the altered rows."""
    world = root / WORLD
    settings = load_settings(world / "ordermart.toml", story.ENVIRON)
    before, expected = json.loads((world / TEXTS).read_text(encoding="utf-8")), kept()
    with opened(settings, world / ALTERED) as con:
        names = {name for name, sql in selects(con) if sql != before.get(name)}
        results = altered_results(con, names or None)
        return any(difference(name, found, expected.get(name)) for name, found in results)


def any_differs(root: Path) -> bool:
    """Tell whether anything of the world differs."""
    folder = Path(tempfile.mkdtemp(prefix="rows-"))
    expected = kept()
    try:
        return any(difference(name, found, expected.get(name)) for name, found in made(folder / "world"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
