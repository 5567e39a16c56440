"""Mutate Python and SQL, run the nearest tests on each mutant, and name the mutants that survive.

    python -m tests.mutations --count 400 --seed 1 pipelines/warehouse pipelines/landing sql

Works on a copy of the checkout. A mutant is one changed place: a comparison, a join, a condition, a column; text that
is no longer Python or SQL is none. It is killed when a test fails that passes on the code as it is, or when tests take
much longer. Knows nothing of what the code is for.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("pipelines", "sql", "tests", "benchmarks", "docs", "pyproject.toml", "ordermart.toml", "README.md")
MOST_SECONDS = 60  # of CPU, for a file of tests on the code as it is; slower ones are left out
SLOWER = 4  # how many times as much CPU tests may take on a mutant before it counts as killed
HANGS = 1_800  # seconds after which a mutant that waits for something counts as killed
IMPORTED = ("dagster", "httpx", "hypothesis.stateful", "pandera.pandas", "pyarrow.parquet", "xdist")
BESIDES = {"finance": "closing"}  # folders of tests that are about a package of another name
EVERY = 10  # mutants: how often the score so far is printed

# Pattern and replacement; each match is a mutant.
PYTHON = [
    (r"(?<![<>=!-])<(?![<=])", "<="),
    (r"<=", "<"),
    (r"(?<![<>=-])>(?![>=])", ">="),
    (r">=", ">"),
    (r"==", "!="),
    (r"!=", "=="),
    (r"\band\b", "or"),
    (r"\bor\b", "and"),
    (r"\bnot (?!in)", ""),
    (r"\bnot in\b", "in"),
    (r"\bmin\(", "max("),
    (r"\bmax\(", "min("),
    (r"\+ 1\b", "+ 2"),
    (r"- 1\b", "- 0"),
    (r"\bTrue\b", "False"),
    (r"\bFalse\b", "True"),
    (r"\bcontinue\b", "break"),
    (r"\bbreak\b", "continue"),
    (r"\+=", "="),
]
SQL = [
    (r"(?<![<>=])<(?![<=>])", "<="),
    (r"<=", "<"),
    (r"(?<![<>=-])>(?![>=])", ">="),
    (r">=", ">"),
    (r"<>", "="),
    (r"\n *and [^\n]+", ""),  # a condition less
    (r"\n *or [^\n]+", ""),
    (r"\nwhere [^\n]+(?=\n(?:\)|group|$))", ""),
    (r"\bleft join\b", "inner join"),
    (r"\binner join\b", "left join"),
    (r"\banti join\b", "semi join"),
    (r"\bunion all\b", "union"),
    (r"\bis distinct from\b", "<>"),
    (r"\bis not distinct from\b", "="),
    (r"\bmin\(", "max("),
    (r"\bmax\(", "min("),
    (r"\bsum\(", "max("),
    (r"\bis null\b", "is not null"),
    (r"\bis not null\b", "is null"),
    (r" desc\b", ""),
    (r"\bdistinct (?!from)", ""),
    (r"\btip\b", "discount"),  # another column of the same type
    (r"\bsubtotal_price\b", "total_price"),
    (r"\bfirst_seen_at\b", "last_seen_at"),
    (r"\bbusiness_date\b(?= (?:as|is))", "null"),
]
_COMMENT = {
    ".py": re.compile(r'"""[\s\S]*?"""|#[^\n]*|^(?:from|import) [^\n]*', re.MULTILINE),
    ".sql": re.compile(r"--[^\n]*"),
}


class Mutant(NamedTuple):
    """One changed place of a file."""

    file: str
    line: int
    old: str
    new: str
    text: str


def mutants(path: Path, root: Path) -> list[Mutant]:
    """Return every mutant of a file; comments, docstrings and imports are left alone."""
    text = path.read_text(encoding="utf-8")
    quiet = [match.span() for match in _COMMENT[path.suffix].finditer(text)]
    found = []
    for pattern, new in PYTHON if path.suffix == ".py" else SQL:
        for match in re.finditer(pattern, text):
            if any(start <= match.start() < end for start, end in quiet):
                continue
            line = text.count("\n", 0, match.start() + len(match[0]) - len(match[0].lstrip())) + 1
            changed = text[: match.start()] + new + text[match.end() :]
            if _is_code(changed, path.suffix):
                found.append(Mutant(str(path.relative_to(root)), line, match[0].strip(), new, changed))
    return found


def _is_code(text: str, suffix: str) -> bool:
    """Return whether a text can be parsed: what cannot is killed by any test, and would flatter the score."""
    try:
        if suffix == ".py":
            compile(text, "mutant", "exec")
        else:
            selects = text if re.search(r"^\s*(?:select|with|from)\b", text, re.MULTILINE) else f"select {text}"
            duckdb.extract_statements(selects)
    except (SyntaxError, duckdb.Error):
        return False
    return True


def nearest_tests(file: str, root: Path, most: int = 4) -> list[str]:
    """Return the files of tests nearest to a file: of its name, then those that name it, then those of its package."""
    path = Path(file)
    name = f"{path.parent.name}.{path.stem}" if path.suffix == ".sql" else ".".join(path.with_suffix("").parts)
    name = path.stem if path.parent.name in ("checks", "ties") else name  # named by their table already
    tests = sorted(root.glob("tests/*/test_*.py"), key=lambda test: (test.parent.name != path.parts[1], test))
    ranked = [test for test in tests if test.stem == f"test_{path.stem.rpartition('__')[0] or path.stem}"]
    ranked += [test for test in tests if f'"{name}' in (text := test.read_text("utf-8")) or f"{name} " in text]
    is_step = path.parent.name == "build"  # of SQL: read where history is found
    if path.suffix == ".sql" and not ranked and not is_step:  # a function, a macro, a step: the tests of what uses it
        word = re.compile(rf"\b{path.stem}\b")
        ranked += [test for test in tests if word.search(test.read_text("utf-8"))]
        sources = sorted(root.glob("sql/*/*.sql")) + sorted(root.glob("pipelines/*/**/*.py"))
        users = [each for each in sources if each.stem != path.stem and word.search(each.read_text("utf-8"))]
        ranked += [root / test for user in users for test in nearest_tests(str(user.relative_to(root)), root)]
    if path.suffix == ".py" or is_step:
        package = "warehouse" if is_step else path.parts[1]
        ranked += [
            root / "tests" / package / "test_rebuild_equals_increments.py",
            root / "tests/warehouse/test_one_change.py",
        ]
        ranked += [test for test in tests if test.parent.name in (package, BESIDES.get(package))]
    return list(dict.fromkeys(str(test.relative_to(root)) for test in ranked if test.exists()))[:most]


def survives(mutant: Mutant, root: Path, runner: Runner, most: int = 4) -> bool:
    """Write a mutant into a copy of the checkout, run its nearest tests, and put the file back."""
    path = root / mutant.file
    before = path.read_text(encoding="utf-8")
    times = {test: runner.seconds(test) for test in nearest_tests(mutant.file, root, most)}
    usual = {test: took for test, took in times.items() if took}
    if not usual:
        return True
    path.write_text(mutant.text, encoding="utf-8")
    try:
        return runner.run(tuple(usual), SLOWER * sum(usual.values()) + MOST_SECONDS)[0]
    finally:
        path.write_text(before, encoding="utf-8")


class Runner:
    """Run tests of a copy of the checkout in forks of one process that has imported what is not ours."""

    def __init__(self, root: Path) -> None:
        self._times: dict[str, float] = {}
        self._pipe, pipe = multiprocessing.Pipe()
        if (pid := os.fork()) == 0:
            try:  # never back into what the parent goes on with
                self._pipe.close()
                _serve(root, pipe)
            finally:
                os._exit(0)
        pipe.close()
        self._pid = pid

    def run(self, tests: tuple[str, ...], limit: float) -> tuple[bool, float]:
        """Tell whether all tests pass within so many seconds of CPU, and how many they took."""
        self._pipe.send((tests, limit))
        passed, took = self._pipe.recv()
        return passed, took

    def seconds(self, test: str) -> float:
        """Return the CPU time of a file of tests on the code as it is; 0 where it fails: it would kill every mutant."""
        if test not in self._times:
            passed, took = self.run((test,), MOST_SECONDS)
            self._times[test] = took if passed else 0
        return self._times[test]

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        os.waitpid(self._pid, 0)


def _serve(root: Path, pipe: Any) -> None:
    """Run tests in forks until the pipe is closed. No thread may run here: it would not be there in a fork."""
    os.chdir(root)
    os.environ["PYTHONPATH"] = str(root)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    sys.path[:] = [str(root), *(each for each in sys.path if each not in ("", str(ROOT)))]
    for name in ("tests", *(name for name in sys.modules if name.startswith("tests."))):
        sys.modules.pop(name, None)
    for name in IMPORTED:
        importlib.import_module(name)
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            tests, limit = pipe.recv()
            if (pid := os.fork()) == 0:
                _test(tests, round(limit))
            ends = time.monotonic() + HANGS
            while not (found := os.wait4(pid, os.WNOHANG))[0]:
                if time.monotonic() > ends:
                    os.kill(pid, signal.SIGKILL)
                time.sleep(0.05)
            pipe.send((found[1] == 0, found[2].ru_utime + found[2].ru_stime))


def _test(tests: tuple[str, ...], limit: int) -> None:
    """Run tests, slow ones too, in this process and end it; too much CPU kills it: other work does not."""
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    os._exit(pytest.main(["-n", "0", "-q", "-x", "-p", "no:cacheprovider", "-m", "not long", *tests]))


def main(arguments: list[str] | None = None) -> int:
    """Sample mutants below some folders, try each, print the survivors and the score."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", type=int, default=4, help="files of tests a mutant")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="mutants-") as copy:
        root = Path(copy)
        for name in COPIED:
            source = ROOT / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, root / name)
        runner = Runner(root)  # before DuckDB starts a thread here
        files = sorted(
            path
            for folder in asked.folders
            for path in (root / folder).rglob("*")
            if path.suffix in _COMMENT and path.stem != "__init__"
        )
        found = [mutant for path in files for mutant in mutants(path, root)]
        sample = random.Random(asked.seed).sample(found, min(asked.count, len(found)))
        alive = []
        for number, mutant in enumerate(sample, 1):
            if survives(mutant, root, runner, asked.tests):
                alive.append(mutant)
                print(
                    f"{number}/{len(sample)} SURVIVES {mutant.file}:{mutant.line}: {mutant.old!r} -> {mutant.new!r}",
                    flush=True,
                )
            if number % EVERY == 0:
                print(f"{number - len(alive)} of {number} killed so far", flush=True)
        runner.close()
    killed = len(sample) - len(alive)
    print(
        f"{killed} of {len(sample)} mutants killed, {100 * killed // max(len(sample), 1)}%, of {len(found)} there are"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
