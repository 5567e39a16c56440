"""A data folder of another user, or a file of root's in it: a sentence, and `doctor` names it."""

from __future__ import annotations

import os
import sqlite3
import sys
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.inbox.worklist import WorkList
from pipelines.ingest.lock import lock_holder
from pipelines.record import NIGHT, new_run, runs, save
from pipelines.report.doctor import examine
from pipelines.report.text import sentence_of
from pipelines.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NOBODY = 65_534


def as_nobody(work: Callable[[], object]) -> int:
    """Do work as another user, in a process of its own; return 0 if it ended well."""
    child = os.fork()
    if child == 0:
        try:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            work()
        except BaseException:  # noqa: BLE001 -- the child must end here
            traceback.print_exc(file=sys.stderr)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture
def data() -> Iterator[Path]:
    """Give a data folder with a record, in a folder that others may enter: pytest's own are closed to them."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        data = Path(folder) / "data"
        data.mkdir()
        save(data, new_run(NIGHT))
        yield data


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_files_of_another_user_are_named(data: Path) -> None:
    """A record that cannot be written, and a work list: a sentence each; `doctor` counts the files and names one."""
    with WorkList(data / "inbox" / "worklist.sqlite") as work:
        work.add("orders", [1], why="a test")
    for folder in (data, data / "runs", data / "inbox"):
        folder.chmod(0o755)
    for file in data.rglob("*.*"):
        file.chmod(0o644)
    settings = load_settings(environ={"ORDERMART_DATA__DIR": str(data)})

    def look() -> None:
        found = next(each for each in examine(settings) if each.part == "access")
        assert found.level == "failure"
        assert str(data) in found.text
        for write, error in ((lambda: save(data, new_run(NIGHT)), OSError), (add, sqlite3.OperationalError)):
            with pytest.raises(error) as raised:
                write()
            assert "The data folder belongs to one user" in (sentence_of(raised.value) or "")

    def add() -> None:
        with sqlite3.connect(f"file:{data}/inbox/worklist.sqlite?immutable=0", uri=True) as db:
            db.execute("create table t (n)")

    assert as_nobody(look) == 0
    assert all(each.part != "access" for each in examine(settings))


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
@pytest.mark.parametrize("hidden", [".", "runs"])
def test_a_folder_that_cannot_be_looked_into_is_named(data: Path, hidden: str) -> None:
    """Records that this user may not list are not "none": a sentence names the folder, and `doctor` says what to do."""
    data.chmod(0o777)  # so that only one folder is closed
    (data / hidden).chmod(0o700)
    settings = load_settings(environ={"ORDERMART_DATA__DIR": str(data)})

    def look() -> None:
        with pytest.raises(PermissionError) as raised:
            runs(data)
        assert (sentence_of(raised.value) or "").startswith(f"{data / 'runs'}: Permission denied. The data folder")
        found = {}
        for each in examine(settings):
            found[each.part] = each
            if each.part == "last run":
                break  # later parts import what this user may not read
        assert (found["access"].level, found["settings"].level) == ("failure", "failure")
        assert str(data / hidden) in found["access"].text
        assert "chown" in found["access"].fix
        assert found["last run"].level == "failure"
        assert str(data / "runs") in found["last run"].text or hidden == "."

    assert as_nobody(look) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_a_lock_that_cannot_be_looked_at_is_not_free(data: Path) -> None:
    """Whether another run holds a lock in a folder that is closed to this user is unknown: an error, not "free"."""
    (data / "run.lock").touch()
    data.chmod(0o700)

    def look() -> None:
        with pytest.raises(PermissionError):
            lock_holder(data)
        assert next(each for each in examine(settings) if each.part == "lock").level == "failure"

    settings = load_settings(environ={"ORDERMART_DATA__DIR": str(data)})
    assert as_nobody(look) == 0


@pytest.mark.parametrize("wrong", ["missing/place", "file/below", "file"])
def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path, wrong: str) -> None:
    """The path, why, and what to do: no traceback, whichever command wanted to write there."""
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=wrong.partition("/")[0]) as raised:
        (tmp_path / wrong).mkdir()
    said = sentence_of(raised.value) or ""
    assert said.startswith(f"{tmp_path / wrong}: ")
    assert said.endswith(". Correct the path, or free some disk")
