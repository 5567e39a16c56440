"""Compare the project's facts for users with the saved ones, or save them.

    python -m tests.baseline                   # compare all parts; print what differs, by table, column or command
    python -m tests.baseline commands story    # compare these parts
    python -m tests.baseline --write [PARTS]   # save what there is; then empty meant.txt

Ends with 1 where something differs.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.baseline.compared import SAVED, compared
from tests.baseline.facts import written
from tests.baseline.parts import PARTS


def main(words: list[str]) -> int:
    """Compare or save."""
    asked = [word for word in words if word != "--write"] or list(PARTS)
    if unknown := [word for word in asked if word not in PARTS]:
        print(f"no part {', '.join(unknown)}: one of {', '.join(PARTS)}")
        return 2
    found = {}
    for part in asked:
        with tempfile.TemporaryDirectory() as folder:
            facts = PARTS[part](Path(folder))
        if facts is None:
            print(f"{part}: not compared, as its data are not beside this checkout")
            continue
        found[part] = facts
        if "--write" in words:
            (SAVED / f"{part}.txt").write_text(written(facts), encoding="utf-8")
    if "--write" in words:
        return 0
    said = compared(found)
    print("\n".join(said or [f"as saved: {', '.join(found)}"]))
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
