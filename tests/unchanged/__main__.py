"""Write the hashes of all rows of the unchanged world to rows.txt, after a change of rows that was meant.

    python -m tests.unchanged

Selects on altered rows run twice, on rows in another order: what differs then is not compared.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pipelines.settings import load_settings
from tests.unchanged import story
from tests.unchanged.altered import altered, altered_results
from tests.unchanged.compared import ANY, FILE, made, written


def main() -> int:
    """Make the world, and write the file."""
    with tempfile.TemporaryDirectory() as folder:
        world = Path(folder) / "world"
        found = dict(made(world))
        settings = load_settings(world / "ordermart.toml", story.ENVIRON)
        with altered(settings, backwards=True) as con:
            for name, columns in altered_results(con):
                for column, value in columns.items():
                    if found[name].get(column) != value:
                        found[name][column] = ANY
    FILE.write_text(written(found.items()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
