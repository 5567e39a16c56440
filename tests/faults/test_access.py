"""A data folder of another user, or a file of root's in it: a sentence, and `doctor` names it."""

from __future__ import annotations

import os
import sqlite3
import sys
import traceback
from typing import TYPE_CHECKING

import pytest

from pipelines.inbox.worklist import WorkList
from pipelines.record import NIGHT, new_run, save
from pipelines.report.doctor import examine
from pipelines.report.text import sentence_of
from pipelines.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_files_of_another_user_are_named(tmp_path: Path) -> None:
    """A record that cannot be written, and a work list: a sentence each; `doctor` counts the files and names one."""
    data = tmp_path / "data"
    data.mkdir()
    save(data, new_run(NIGHT))
    with WorkList(data / "inbox" / "worklist.sqlite") as work:
        work.add("orders", [1], why="a test")
    for folder in (*tmp_path.parents, tmp_path, data, data / "runs", data / "inbox"):
        if folder.stat().st_uid == os.geteuid() and folder.is_relative_to(tmp_path.parents[1]):
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
