"""`[closing] approver = "another"`: one system user prepares a close, another one approves it."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.finance import closing
from pipelines.finance.released import FinanceError, one_day
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.ledger import Closes, User, verify
from pipelines.report.finance_views import closed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

AT, DAY = "2026-10-31T10:00:00Z", "2026-10-31"
D31, LATER = dt.date(2026, 10, 31), dt.datetime(2026, 11, 9, tzinfo=dt.UTC)
CHECKED = 24
ANNE, BEN = User(1001, "Anne"), User(1002, "Ben")


@pytest.fixture
def prepared(books: Any, rules: dict[str, str], balanced: dict[str, Any]) -> Any:
    """Let Anne prepare a day of one order."""
    books.set(formula=rules, closing={"approver": "another"})
    books.land(1, CHECKED, created_at=AT, store_id=1, **balanced)
    books.publish()
    done = closing.close(books.settings, one_day(DAY), now=LATER, user=ANNE)
    assert done.is_prepared
    assert "NOT CLOSED yet: another system user must run" in "\n".join(closed(one_day(DAY), done))
    assert not Closes(books.ledger.entries()).is_closed(D31)
    return books


def approve(books: Any, user: User) -> closing.Closed:
    """Approve the day."""
    return closing.approve(books.settings, one_day(DAY), now=LATER, user=user)


@pytest.mark.slow
def test_another_user_approves_what_one_prepared(prepared: Any) -> None:
    """The same uid is refused whatever name it gives; another one closes the day; nothing is approved twice."""
    books = prepared
    for user in (ANNE, User(ANNE.uid, "Ben")):
        with pytest.raises(FinanceError, match="was prepared by this system user"):
            approve(books, user)
    assert verify(books.ledger).entries == 1
    done = approve(books, BEN)
    assert done.entry
    assert (done.entry.act, done.entry.body["prepared_entry_no"]) == ("closed", 1)
    assert (done.entry.body["uid"], done.entry.body["as"]) == (1002, "Ben")
    assert Closes(books.ledger.entries()).is_closed(D31)
    with pytest.raises(FinanceError, match="is already closed"):
        approve(books, BEN)
    books.reopen(DAY)
    with pytest.raises(FinanceError, match="is not prepared"):
        approve(books, BEN)


@pytest.mark.slow
def test_what_changed_since_must_be_prepared_again(prepared: Any, balanced: dict[str, Any]) -> None:
    """The same document, fetched again, may be approved; another total may not, nor a blocker that came since."""
    books = prepared
    changed = balanced | {"tip": "1", "total_price": "9.25"}
    books.land(1, CHECKED + 2, created_at=AT, store_id=1, **changed)
    books.publish()
    with pytest.raises(FinanceError, match=r"have changed since they were prepared \(entry 1\): prepare it again"):
        approve(books, BEN)
    books.land(1, CHECKED + 3, created_at=AT, store_id=1, **(changed | {"total_price": "9.26"}))
    books.publish()
    assert approve(books, BEN).entry is None
    closing.close(books.settings, one_day(DAY), now=LATER, user=ANNE, exceptions="a cent")
    books.land(1, CHECKED + 4, created_at=AT, store_id=1, **(changed | {"total_price": "9.26"}))
    books.publish()
    done = approve(books, BEN)
    assert done.entry
    assert done.entry.body["exceptions"]["reason"] == "a cent"
    assert done.entry.body["prepared_entry_no"] == 2


@pytest.mark.long
def test_a_refused_approval_lists_what_was_not_accepted(prepared: Any) -> None:
    """A blocker accepted with the preparation is not listed again; accepting the other one needs a new preparation."""
    books = prepared
    books.land(2, CHECKED, created_at=AT, store_id=1, status="odd")
    books.publish()
    closing.close(books.settings, one_day(DAY), now=LATER, user=ANNE, exceptions="odd ones")
    with WorkList(inbox_path(books.world.data), clock=lambda: LATER - dt.timedelta(hours=4)) as work:
        work.add("orders", [11], why="test")
    done = approve(books, BEN)
    assert done.entry is None
    assert [blocker.partition(":")[0] for blocker in done.blockers] == ["due and not fetched yet"]
    text = "\n".join(closed(one_day(DAY), done))
    assert "unmapped" not in text
    assert text.endswith('accept them and prepare it again: `ordermart close … --with-exceptions "REASON"`.')


@pytest.mark.slow
def test_the_command_counts_system_users(prepared: Any) -> None:
    """Prepared by this system user it is refused, under whatever name; prepared by another one it is closed."""

    def run() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pipelines.cli", "close", "approve", DAY, "--as", "Ben"]
        return subprocess.run(
            [*command, "--config", str(prepared.settings.file)],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "ORDERMART_WAREHOUSE__THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    closing.close(prepared.settings, one_day(DAY), now=LATER, user=User(os.getuid(), "Anne"))
    refused = run()
    assert (refused.returncode, "--as does not count" in refused.stderr) == (1, True)
    closing.close(prepared.settings, one_day(DAY), now=LATER, user=User(os.getuid() + 1, "Ben"))
    done = run()
    assert (done.returncode, "Closed 2026-10-31" in done.stdout) == (0, True), done.stderr
    (entry,) = prepared.ledger.entries("closed")
    assert (entry.body["uid"], entry.body["as"]) == (os.getuid(), "Ben")


OLD_DAY, OLD_AT = "2016-10-31", "2016-10-31T10:00:00Z"
ANNE_ID, BEN_ID, GROUP = 61001, 61002, 61000  # no accounts: ids are all that the system needs
PROJECT = Path(__file__).parents[2]
# Run a command as root on a copy of the folder, so that every module is loaded: the user may not be able to read the
# interpreter's folder. Then become the user for good, and run it on the folder itself.
AS_USER = """
import contextlib, io, os, sys
from pipelines.cli import main

def run(config):
    sys.argv = ["ordermart", *sys.argv_of_test, "--config", config]
    try:
        main()
    except SystemExit as end:
        return end.code or 0
    return 0

uid, gid, copy, config, *sys.argv_of_test = sys.argv[1:]
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    run(copy)
os.setgroups([])
os.setgid(int(gid))
os.setuid(int(uid))
# The set-group-ID bit of the data folder is what makes a command write for the group.
assert os.getresuid() == (int(uid),) * 3
if not (os.access("sql/finance", os.R_OK | os.X_OK) and os.access(config, os.R_OK)):
    sys.exit(77)
sys.exit(run(config))
"""


@pytest.fixture
def shared() -> Iterator[Path]:
    """Give a folder that both users can write to, as members of its group."""
    folder = Path(tempfile.mkdtemp(prefix="ordermart-users-"))
    yield folder
    shutil.rmtree(folder)


def share(folder: Path) -> None:
    """Give a folder and all in it to the group, as `chgrp -R` and `chmod -R g+rwXs` do."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            os.chown(path, -1, GROUP)
            path.chmod(path.stat().st_mode | (0o2070 if path.is_dir() else 0o060))


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a command as two other users")
def test_one_system_user_prepares_and_another_approves(
    shared: Path, books_of: Callable[[Path], Any], rules: dict[str, str], balanced: dict[str, Any]
) -> None:
    """Who prepared it is refused, whatever name they give; the other one closes the day, in the same files."""
    books = books_of(shared / "books")
    books.set(formula=rules, closing={"approver": "another"})
    books.land(1, CHECKED, created_at=OLD_AT, store_id=1, **balanced)
    books.publish()
    share(shared)
    config = books.settings.file

    def run(uid: int, *arguments: str) -> subprocess.CompletedProcess[str]:
        copy = shared / f"copy-{uid}-{len(list(shared.iterdir()))}"
        shutil.copytree(config.parent, copy, symlinks=True)
        command = [sys.executable, "-c", AS_USER, str(uid), str(GROUP), str(copy / config.name), str(config)]
        done = subprocess.run(
            [*command, *arguments],
            cwd=PROJECT,
            env={**os.environ, "ORDERMART_WAREHOUSE__THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        if done.returncode == 77:
            pytest.skip(f"other users cannot read {PROJECT} or {shared}")
        return done

    prepared = run(ANNE_ID, "close", OLD_DAY, "--as", "Anne")
    assert (prepared.returncode, "Prepared 2016-10-31" in prepared.stdout) == (0, True), prepared.stderr
    refused = run(ANNE_ID, "close", "approve", OLD_DAY, "--as", "Ben")
    assert (refused.returncode, "another one must approve it" in refused.stderr) == (1, True), refused.stderr
    done = run(BEN_ID, "close", "approve", OLD_DAY, "--as", "Ben")
    assert (done.returncode, "Closed 2016-10-31" in done.stdout) == (0, True), done.stderr

    before, after = books.ledger.entries()
    assert [(entry.act, entry.who, entry.body["uid"]) for entry in (before, after)] == [
        ("prepared", f"uid {ANNE_ID}", ANNE_ID),
        ("closed", f"uid {BEN_ID}", BEN_ID),
    ]
    owners = {path.name: (path.stat().st_uid, path.stat().st_gid) for path in books.ledger.folder.iterdir()}
    assert owners["ledger.jsonl"] == (ANNE_ID, GROUP)
    assert owners[after.file] == (BEN_ID, GROUP)
