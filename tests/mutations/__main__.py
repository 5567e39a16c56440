"""Mutate Python and SQL, run the nearest tests on each mutant, and name the mutants that survive.

    python -m tests.mutations --count 400 --seed 1 pipelines/warehouse pipelines/landing sql

Works on a copy of the checkout. A mutant is one changed place: a comparison, a join, a condition, a column. It is
killed when rows of the unchanged world differ, when a test fails that passes on the code as it is, or when tests take
much longer. Mutants that nothing can kill are in equivalent.txt, with the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.mutations.nearest import nearest_tests
from tests.mutations.places import COMMENT, Mutant, mutants
from tests.mutations.runner import MOST_SECONDS, ROOT, ROWS, SELECTS, SLOW, TEXTS, WORLD, Runner

EQUIVALENT = Path(__file__).with_name("equivalent.txt")
COPIED = ("pipelines", "sql", "tests", "benchmarks", "docs", "pyproject.toml", "ordermart.toml", "README.md")
SLOWER = 4  # how many times as much CPU tests may take on a mutant before it counts as killed
LEAST_SECONDS = 2.0  # a fork takes some of it
KEEP = "from pathlib import Path; from tests.mutations.rows import keep_world; keep_world(Path('.'))"


class Runners:
    """One runner for each kind of file: those of SQL begin with the code imported."""

    def __init__(self, root: Path, *, has_rows: bool = True) -> None:
        self.python = Runner(root)
        self.sql = Runner(root, "tests.mutations.rows") if has_rows else self.python
        self.has_rows = has_rows

    def close(self) -> None:
        """End the processes."""
        self.python.close()
        if self.sql is not self.python:
            self.sql.close()


def killer(mutant: Mutant, root: Path, runners: Runners, most: int = 4) -> str:
    """Write a mutant into a copy of the checkout, and return what kills it, or nothing; the file is put back.

    Cheap ones come first: selects on altered rows, the nearest file of tests, all rows, the other tests.
    """
    path = root / mutant.file
    before = path.read_text(encoding="utf-8")
    is_sql = path.suffix == ".sql"
    tests = nearest_tests(mutant.file, root, most)
    tried = [(runners.sql, SELECTS)] if runners.has_rows and is_sql else []
    tests = [lane for name in tests for lane in ([name, f"{name}{SLOW}"] if name in tests[:3] else [name])]
    names = [*tests[:1], ROWS, *tests[1:]] if runners.has_rows and makes_rows(mutant.file) else tests
    if path.parent.name == "contracts":  # all rows begin with what they say
        names = [ROWS, *tests]
    if is_sql and runners.has_rows and is_run(root, path):  # they would show hardly more
        names = tests
    tried += [(runners.sql if name == ROWS and is_sql else runners.python, name) for name in names]
    for runner, name in tried:
        if runner.seconds.get(name, 1) == 0:  # fails on the code as it is
            continue
        path.write_text(mutant.text, encoding="utf-8")
        try:
            passed = runner.run(name, max(LEAST_SECONDS, SLOWER * runner.seconds.get(name, MOST_SECONDS)))[0]
        finally:
            path.write_text(before, encoding="utf-8")
        if not passed and (name in (ROWS, SELECTS) or runner.passes(name)):
            return name
    return ""


def is_run(root: Path, file: Path) -> bool:
    """Tell whether the select in a file is among those that run on altered rows."""
    names = {name.split()[1] for name in json.loads((root / WORLD / TEXTS).read_text(encoding="utf-8"))}
    stem = file.stem
    return bool(names & {stem, f"{file.parent.name}.{stem}", stem.partition("_")[2]})


def makes_rows(file: str) -> bool:
    """Return whether a file can shape rows of the unchanged world: landing lays out files before they are read."""
    return not file.startswith("pipelines/landing/")


def equivalents() -> set[tuple[str, str, str]]:
    """Return (file, line, change) of the mutants that nothing can kill: equivalent.txt gives the reason for each."""
    found = set()
    for block in EQUIVALENT.read_text(encoding="utf-8").split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if lines:
            file, line, change = lines[:3]
            found.add((file, line.strip(), change.strip()))
    return found


def place_of(mutant: Mutant, text: str) -> tuple[str, str, str]:
    """Return what names a mutant whatever lines its file gets before it."""
    return mutant.file, text.splitlines()[mutant.line - 1].strip(), f"{mutant.old!r} -> {mutant.new!r}"


def main(arguments: list[str] | None = None) -> int:
    """Sample mutants below some folders, try each, print the survivors and the score."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", type=int, default=4, help="files of tests a mutant")
    parser.add_argument("--only", type=int, nargs="*", help="these of the sample, by number")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="mutants-") as copy:
        root = Path(copy)
        for name in COPIED:
            source = ROOT / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, root / name)
        environ = {**os.environ, "PYTHONPATH": str(root)}
        subprocess.run([sys.executable, "-c", KEEP], cwd=root, env=environ, check=True)
        runners = Runners(root)  # before DuckDB starts a thread here
        files = sorted(
            path
            for folder in asked.folders
            for path in (root / folder).rglob("*")
            if path.suffix in COMMENT and path.stem != "__init__"
        )
        found = [mutant for path in files for mutant in mutants(path, root)]
        sample = random.Random(asked.seed).sample(found, min(asked.count, len(found)))
        known, outcomes = equivalents(), Counter[str]()
        chosen = [(number, each) for number, each in enumerate(sample, 1) if not asked.only or number in asked.only]
        for number, mutant in chosen:
            place = place_of(mutant, (root / mutant.file).read_text(encoding="utf-8"))
            name = EQUIVALENT.stem if place in known or mutant.is_guard else killer(mutant, root, runners, asked.tests)
            outcomes[name.split("/")[0] if name != SELECTS else ROWS] += 1
            said = f"killed by {name}" if name else "SURVIVES"
            print(f"{number} {said}: {mutant.file}:{mutant.line}: {place[2]} in {place[1]!r}", flush=True)
        runners.close()
    alike, alive = outcomes.pop(EQUIVALENT.stem, 0), outcomes.pop("", 0)
    killed, share = outcomes.total(), outcomes.total() / max(outcomes.total() + alive, 1)
    print(
        f"seed {asked.seed}, {len(chosen)} of {len(found)} mutants: {killed} killed ("
        + ", ".join(f"{count} by {name}" for name, count in outcomes.most_common())
        + f"), {alike} equivalent, {alive} survive; killed of those that can be: {share:.0%}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
