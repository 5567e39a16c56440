"""Damage every file of a small world in four ways, and run each command on it.

python -m tests.damage --all
python -m tests.damage --seed 7 --most 60
python -m tests.damage --file vault/vault.sqlite --damage flip --command night --say
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.damage.matrix import COMMANDS, GOOD, cells, judged, sample
from tests.damage.world import DAMAGES, world


def main() -> int:
    """Run what was asked for; return 1 where a damage was silent or a command did not end in order."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="every cell; takes hours")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=0, help="cells besides each file once")
    parser.add_argument("--file", nargs="*", default=[""], help="files whose path begins so")
    parser.add_argument("--damage", choices=DAMAGES)
    parser.add_argument("--command", choices=tuple(COMMANDS))
    parser.add_argument("--say", action="store_true", help="print what each command said")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="damage-"))
    tally: Counter[str] = Counter()
    try:
        with world(folder) as made:
            is_chosen = asked.file != [""] or asked.damage or asked.command
            every = cells(made, seed=asked.seed) if asked.all or is_chosen else sample(made, asked.seed, asked.most)
            chosen = [
                cell
                for cell in every
                if cell.file.startswith(tuple(asked.file))
                and asked.damage in (None, cell.damage)
                and asked.command in (None, cell.command)
            ]
            for cell, verdict, said in judged(made, chosen):
                tally[verdict] += 1
                sys.stdout.write(f"{verdict:9} {cell.command:9} {cell.damage:6} {cell.file}\n")
                if asked.say or verdict not in GOOD:
                    sys.stdout.write("".join(f"    {line}\n" for line in said.splitlines()[-12:]))
                sys.stdout.flush()
        sys.stdout.write(", ".join(f"{count:,} {verdict}" for verdict, count in tally.most_common()) + "\n")
        return int(any(verdict not in GOOD for verdict in tally))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
