"""A killed erasure or rotation of keys is finished by the same command: a sample of all their operations on files.

All of the operations: `python -m tests.sweep.vault --all`.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.sweep.bench import ROOT


def sweep(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the sweep; skip without a C compiler."""
    command = [sys.executable, "-m", "tests.sweep.vault", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode == 2:
        pytest.skip(done.stdout)
    return done


def test_kills_lose_nothing() -> None:
    """Killed at four operations each, both commands come to the state that they come to without a kill."""
    done = sweep("--most", "4")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("killed at 4 of them, 0 lost") == 2


@pytest.mark.slow
@pytest.mark.parametrize("command", ["erase", "rotate"])
def test_planted_faults_are_found(command: str) -> None:
    """An erasure that is noted before it was applied, and a rotation without a transaction, lose something."""
    done = sweep("--each", "6", "--most", "6", "--on", "vault.sqlite-wal", "--plant", "--only", command)
    assert (done.returncode, "LOST at" in done.stdout) == (1, True), done.stdout + done.stderr
