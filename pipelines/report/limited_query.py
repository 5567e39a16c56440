"""Run a select on the current release within limits of time, memory and size, in a process that has no secrets."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.read import NoReleaseError
from pipelines.record import current_release
from pipelines.warehouse.release.release import DATABASE

PROCESS = Path(__file__).with_name("query_process.py")
MIB = 2**20


class QueryError(Exception):
    """A query has no answer; the message says why, in the database's words or as the limit that it exceeded."""


@dataclass(frozen=True)
class Limits:
    """What one query may use."""

    seconds: float = 30.0
    memory_mib: int = 1024
    max_rows: int = 1000


class LimitedQueries:
    """Selects on whatever release of a data folder is current, one at a time."""

    def __init__(self, data: Path, limits: Limits) -> None:
        self._published = data / "published"
        self.limits = limits
        self._turn = threading.Lock()

    def select(self, sql: str, max_rows: int | None = None) -> dict[str, Any]:
        """Return the release's id, columns, rows as JSON has them, and whether there are more rows.

        Amounts, times and integers above 2^53 are texts. Raise QueryError, or NoReleaseError before the first release.
        """
        release = current_release(self._published)
        if release is None:
            raise NoReleaseError(f"there is no release in {self._published}: run `ordermart run` first")
        request = {
            "database": str(release / DATABASE),
            "sql": sql,
            "max_rows": min(self.limits.max_rows, max_rows or self.limits.max_rows),
            "memory_bytes": self.limits.memory_mib * MIB,
        }
        with self._turn:
            return {"release_id": release.name, **self._answer(request)}

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            # -I and an empty environment: no setting, secret or path of this process reaches the query
            done = subprocess.run(  # noqa: S603 -- a program of this package
                [sys.executable, "-I", str(PROCESS)],
                input=json.dumps(request),
                env={},
                capture_output=True,
                encoding="utf-8",
                timeout=self.limits.seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise QueryError(
                f"the query took longer than {self.limits.seconds:g} seconds: read fewer rows or group them"
            ) from None
        if done.returncode != 0:
            why = (done.stderr.splitlines() or [f"most likely at its limit of {self.limits.memory_mib} MiB"])[-1]
            raise QueryError(f"the query's process ended with code {done.returncode}: {why}")
        answer: dict[str, Any] = json.loads(done.stdout)
        if "error" in answer:
            raise QueryError(answer["error"])
        return answer
