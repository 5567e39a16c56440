"""The lock of a data folder."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pipelines.assets.lock import RunLockedError, run_lock

if TYPE_CHECKING:
    from pathlib import Path

_HOLD = """
import sys, time
from pathlib import Path
from pipelines.assets.lock import run_lock
with run_lock(Path(sys.argv[1]), "ordermart run"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_run_is_told_who_holds_the_lock(tmp_path: Path) -> None:
    """While another process runs, a second one ends at once and names it; a killed one leaves nothing behind."""
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


def test_the_holder_may_ask_again(tmp_path: Path) -> None:
    """The job that a command executes in its own process runs under the command's lock."""
    with run_lock(tmp_path, "outer"), run_lock(tmp_path, "inner"):
        pass
    with run_lock(tmp_path, "again"):
        pass
