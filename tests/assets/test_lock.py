"""The lock of a data folder."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pipelines.ingest.lock import RunLockedError, run_lock

if TYPE_CHECKING:
    from pathlib import Path

_HOLD = """
import sys, time
from pathlib import Path
from pipelines.ingest.lock import run_lock
with run_lock(Path(sys.argv[1]), "ordermart run"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_run_lock_held_by_another_process_names_it(tmp_path: Path) -> None:
    """While another process holds the lock, a second one fails at once and names it; a kill releases it."""
    other = subprocess.Popen([sys.executable, "-c", _HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(RunLockedError, match=f"ordermart run, process {other.pid} on"), run_lock(tmp_path, "x"):
            pass
    finally:
        other.kill()
        other.wait()
        if other.stdout:
            other.stdout.close()
    with run_lock(tmp_path, "after the kill"):
        pass


def test_run_lock_is_reentrant_in_its_process(tmp_path: Path) -> None:
    """The job that a command executes in its own process runs under the command's lock."""
    with run_lock(tmp_path, "outer"), run_lock(tmp_path, "inner"):
        pass
    with run_lock(tmp_path, "again"):
        pass
