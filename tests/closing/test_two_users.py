"""`[closing] approver = "another"` with two users of the operating system, who share a data folder as one group."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DAY, AT, CHECKED = "2016-10-31", "2016-10-31T10:00:00Z", 24
ANNE, BEN, GROUP = 61001, 61002, 61000  # no accounts: ids are all that the system needs
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

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a command as two other users"),
]


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


def test_one_system_user_prepares_and_another_approves(
    shared: Path, books_of: Callable[[Path], Any], rules: dict[str, str], balanced: dict[str, Any]
) -> None:
    """Who prepared it is refused, whatever name they give; the other one closes the day, in the same files."""
    books = books_of(shared / "books")
    books.set(formula=rules, closing={"approver": "another"})
    books.land(1, CHECKED, created_at=AT, store_id=1, **balanced)
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

    prepared = run(ANNE, "close", DAY, "--as", "Anne")
    assert (prepared.returncode, "Prepared 2016-10-31" in prepared.stdout) == (0, True), prepared.stderr
    refused = run(ANNE, "close", "approve", DAY, "--as", "Ben")
    assert (refused.returncode, "another one must approve it" in refused.stderr) == (1, True), refused.stderr
    done = run(BEN, "close", "approve", DAY, "--as", "Ben")
    assert (done.returncode, "Closed 2016-10-31" in done.stdout) == (0, True), done.stderr

    before, after = books.ledger.entries()
    assert [(entry.act, entry.who, entry.body["uid"]) for entry in (before, after)] == [
        ("prepared", f"uid {ANNE}", ANNE),
        ("closed", f"uid {BEN}", BEN),
    ]
    owners = {path.name: (path.stat().st_uid, path.stat().st_gid) for path in books.ledger.folder.iterdir()}
    assert owners["ledger.jsonl"] == (ANNE, GROUP)
    assert owners[after.file] == (BEN, GROUP)
