"""The lock of a data folder."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from pipelines.ingest.lock import RunLockedError, lock_holder, run_lock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_HOLD = """
import sys, time
from pathlib import Path
from pipelines.ingest.lock import run_lock
with run_lock(Path(sys.argv[1]), "ordermart run"):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Give another process that holds the lock until it is killed, and see to its end."""
    with subprocess.Popen([sys.executable, "-c", _HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        yield other
        other.kill()


def test_run_lock_held_by_another_process_names_it(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    """While another process holds the lock, a second one fails at once and names it; a kill releases it."""
    with pytest.raises(RunLockedError, match=f"ordermart run, process {holder.pid} on"), run_lock(tmp_path, "x"):
        pass
    holder.kill()
    holder.wait()
    with run_lock(tmp_path, "after the kill"):
        pass


def test_a_run_that_waits_for_the_lock_gets_it(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    """It says once whom it waits for and how long, and goes on when the other one ends."""
    said: list[str] = []

    def end_the_other(sentence: str) -> None:
        said.append(sentence)
        holder.kill()

    with run_lock(tmp_path, "a night", wait=timedelta(minutes=5), say=end_the_other):
        assert "a night" in (tmp_path / "run.lock").read_text(encoding="utf-8")
    (sentence,) = said
    assert f"process {holder.pid} on" in sentence
    assert sentence.endswith("this one waits for it, at most 5 minutes")


@pytest.mark.usefixtures("holder")
def test_a_run_waits_for_the_lock_no_longer_than_it_may(tmp_path: Path) -> None:
    """A holder that does not end is refused after the wait."""
    said: list[str] = []
    wait = timedelta(milliseconds=300)
    with (
        pytest.raises(RunLockedError, match="wait for it or stop it"),
        run_lock(tmp_path, "x", wait=wait, say=said.append),
    ):
        pass
    assert len(said) == 1


def test_the_note_of_another_machine_holds_nothing(tmp_path: Path) -> None:
    """What a container left that is gone, whatever its host was called, neither counts as a run nor is removed."""
    note = '{"holder": "ordermart run", "pid": 7, "started": "1", "host": "gone", "since": "2026-11-20T03:15:00+00:00"}'
    (tmp_path / "run.lock").write_text(note, encoding="utf-8")
    assert lock_holder(tmp_path) is None
    assert (tmp_path / "run.lock").read_text(encoding="utf-8") == note


def test_who_looks_at_the_lock_keeps_no_run_from_it(tmp_path: Path) -> None:
    """While somebody looks, several can, and a run that takes the lock in that moment waits for it to pass."""
    (tmp_path / "run.lock").touch()
    with (tmp_path / "run.lock").open("rb") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        assert lock_holder(tmp_path) is None
        with run_lock(tmp_path, "a run", say=lambda _: looking.close()):
            assert looking.closed
            assert "a run" in (lock_holder(tmp_path) or "")


def test_run_lock_is_reentrant_in_its_process(tmp_path: Path) -> None:
    """The job that a command executes in its own process runs under the command's lock."""
    with run_lock(tmp_path, "outer"), run_lock(tmp_path, "inner"):
        pass
    with run_lock(tmp_path, "again"):
        pass
