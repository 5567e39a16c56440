"""Run checks of a copy of the checkout in forks of one process that has imported what does not change."""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[2]
MOST_SECONDS = 40  # of CPU, for a file of tests on the code as it is; slower ones are left out
HANGS = 1_800  # seconds after which what waits for something has failed
IMPORTED = ("dagster", "httpx", "hypothesis.stateful", "pandera.pandas", "pyarrow.parquet", "xdist")
ROWS = "rows of the unchanged world"  # checked beside files of tests; with SQL alone changed, by
WORLD, TEXTS = "unchanged-world", "selects.json"  # in the copy: the world, and there the texts of its selects
SELECTS = "selects on its altered rows"  # first
SLOW = ", its slow tests"  # after the name of a file


class Runner:
    """Run tests, or compare rows; `imports` are modules of the copy that the forks begin with."""

    def __init__(self, root: Path, *imports: str) -> None:
        self.seconds: dict[str, float] = {}  # of CPU, of tests on the code as it is
        self._pipe, pipe = multiprocessing.Pipe()
        if (pid := os.fork()) == 0:
            try:  # never back into the parent's modules
                self._pipe.close()
                _serve(root, pipe, imports)
            finally:
                os._exit(0)
        pipe.close()
        self._pid = pid

    def run(self, name: str, limit: float) -> tuple[bool, float]:
        """Tell whether a file of tests, or rows, pass within so many seconds of CPU, and how many they took."""
        self._pipe.send((name, limit))
        passed, took = self._pipe.recv()
        return passed, took

    def passes(self, name: str) -> bool:
        """Tell whether the same pass on the code as it is; what fails there, or takes long, would kill every mutant."""
        if name not in self.seconds:
            passed, took = self.run(name, MOST_SECONDS)
            self.seconds[name] = took if passed else 0
        return self.seconds[name] > 0

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        os.waitpid(self._pid, 0)


def _serve(root: Path, pipe: Any, imports: tuple[str, ...]) -> None:
    """Run tests in forks until the pipe is closed. No thread may run here: it would not be there in a fork."""
    os.chdir(root)
    os.environ["PYTHONPATH"] = str(root)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    sys.path[:] = [str(root), *(each for each in sys.path if each not in ("", str(ROOT)))]
    for name in [name for name in sys.modules if name.partition(".")[0] in ("tests", "pipelines")]:
        sys.modules.pop(name)
    for name in (*IMPORTED, *imports):
        importlib.import_module(name)
    if "tests.mutations.rows" in imports:
        sys.modules["tests.mutations.rows"].open_world(root)
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            name, limit = pipe.recv()
            if (pid := os.fork()) == 0:
                _check(root, name, round(limit))
            ends = time.monotonic() + HANGS
            while not (found := os.wait4(pid, os.WNOHANG))[0]:
                if time.monotonic() > ends:
                    os.kill(pid, signal.SIGKILL)
                time.sleep(0.02)
            pipe.send((found[1] == 0, found[2].ru_utime + found[2].ru_stime))


def _check(root: Path, name: str, limit: int) -> NoReturn:
    """Run tests of the default lane in this process and end it; too much CPU kills it: other work does not."""
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    passed = False
    try:
        if name in (ROWS, SELECTS):
            rows = importlib.import_module("tests.mutations.rows")
            passed = not (rows.any_differs(root) if name == ROWS else rows.any_select_differs(root))
        else:
            lane = ["-m", "slow and not long"] if name.endswith(SLOW) else []
            passed = not pytest.main(["-n", "0", "-q", "-x", "-p", "no:cacheprovider", *lane, name.removesuffix(SLOW)])
    finally:  # whatever is raised is a failure
        os._exit(0 if passed else 1)
