"""Set up a small world with one finished night, and run jobs of the worker on copies of it."""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from pipelines.sandbox.process import Sandbox
from pipelines.vault import new_key_file

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
SHIM = Path(__file__).with_name("shim.c")
MODES = {"kill": 1, "full": 2, "broken": 3}
STAGES = ("webhooks", "ingest", "totals", "build", "release", "maintenance", "backup")


class NoCompiler(Exception):
    """There is no C compiler, or no LD_PRELOAD: the sweep cannot run here."""


class Bench:
    """A world, its first night in `base`, a worker."""

    def __init__(self, folder: Path, sandbox: Sandbox, ids: Path, worker: subprocess.Popen[str]) -> None:
        self.folder, self.base_url, self.ids = folder, sandbox.base_url, ids
        self.base, self.place = folder / "base", folder / "place"
        self._worker = worker
        self.volatile: set[str] = set()
        self.expected: dict[str, Any] = {}
        self.seen: dict[str, list[str]] = {}

    def fresh(self, folder: Path) -> None:
        """Begin with a copy of a kept folder."""
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(folder, self.place, symlinks=True)

    def job(self, do: str, **more: Any) -> dict[str, Any]:
        """Run a job in a child of the worker and return its answer."""
        job = {"do": do, "place": str(self.place), "base_url": self.base_url, "ids": str(self.ids), **more}
        assert self._worker.stdin
        assert self._worker.stdout
        self._worker.stdin.write(json.dumps(job) + "\n")
        self._worker.stdin.flush()
        line = self._worker.stdout.readline()
        assert line, "the worker ended"
        return dict(json.loads(line))

    def expect(self) -> None:
        """Run two nights without a fault: what differs between them is not compared.

        Keep the folder as it was before each stage, and the operations of each in `seen`, as name, tab, path.
        """
        trace = self.folder / "trace"
        outcomes = []
        for _ in range(2):
            self.fresh(self.base)
            for stage in STAGES:
                shutil.rmtree(self.before(stage), ignore_errors=True)
                shutil.copytree(self.place, self.before(stage), symlinks=True)
                found = self.job("stage", stage=stage, trace=str(trace), record=str(self.record_of(stage)))
                assert "error" not in found, found
                self.seen[stage] = [line.partition("\t")[2] for line in trace.read_text().splitlines()]
            found = self.job("next", gives_ids=False, outcome=True)
            assert "error" not in found, found
            outcomes.append(found["outcome"])
        self.volatile = {name for name in outcomes[0] if outcomes[0][name] != outcomes[1].get(name)}
        # When a listing was answered is the clock's: two nights may take equally long, and a third may not.
        self.volatile |= {name for name in outcomes[1] if name.endswith(".last_listed_at")}
        self.expected = outcomes[1]

    def record_of(self, stage: str) -> Path:
        """Return where the operations of a stage of the last night without a fault are recorded."""
        return self.folder / f"record-{stage}"

    def before(self, stage: str) -> Path:
        """Return where the folder is kept as it was before a stage."""
        return self.folder / f"before-{stage}"

    def differences(self, stage: str) -> list[str]:
        """Run the next night after a fault in a stage; return differences from a night without a fault."""
        found = self.job("next", gives_ids=stage in ("webhooks", "ingest"), outcome=True)
        if "outcome" not in found:
            return [f"{found.get('before', 'the next night')}: {found.get('error', found)}\n{found.get('where', '')}"]
        got = found["outcome"]
        names = sorted((self.expected.keys() | got.keys()) - self.volatile)
        return [
            f"{name}: {got.get(name)} instead of {self.expected.get(name)}"
            for name in names
            if got.get(name) != self.expected.get(name)
        ]


@contextmanager
def bench(folder: Path, orders: int) -> Iterator[Bench]:
    """Start a service, build the shim, start the worker and run the first night."""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    shim, ids = folder / "shim.so", folder / "ids"
    try:
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O1", "-o", str(shim), str(SHIM), "-ldl", "-lpthread"], check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise NoCompiler(str(error)) from None
    (folder / "base").mkdir()
    new_key_file(folder / "base" / "keys.json")
    (folder / "base" / "ordermart.toml").write_text("", encoding="utf-8")
    with Sandbox(orders=orders, stores=2, days=4, ids=ids) as sandbox:
        clock = f"{sandbox.base_url}/_sandbox/clock"
        shown = httpx.get(clock).json()
        with subprocess.Popen(
            [sys.executable, "-m", "tests.sweep.worker"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "LD_PRELOAD": str(shim), "ORDERMART_VERIFY__SECONDS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as worker:
            assert worker.stdout
            try:
                if worker.stdout.readline() != "ready\n":
                    raise NoCompiler("the worker did not start with the shim preloaded")
                made = Bench(folder, sandbox, ids, worker)
                _move(clock, _middle(shown))
                made.place = made.base
                found = made.job("first")
                assert "error" not in found, found
                made.place = folder / "place"
                _move(clock, shown["end"])
                yield made
            finally:
                worker.stdin and worker.stdin.close()
                worker.wait(30)


def _middle(shown: dict[str, str]) -> str:
    start, end = (dt.datetime.fromisoformat(shown[name]) for name in ("start", "end"))
    return (start + (end - start) / 2).isoformat()


def _move(clock: str, now: str) -> None:
    httpx.post(clock, json={"now": now}).raise_for_status()
