"""`[closing] approver = "another"`: one system user prepares a close, another one approves it."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipelines.finance import closing
from pipelines.finance.periods import one_day
from pipelines.finance.released import FinanceError
from pipelines.ledger import Closes, verify
from pipelines.ledger.users import User
from pipelines.report.closing import closed

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
    assert "NOT CLOSED yet: another system user must run" in closed(one_day(DAY), done)
    assert not Closes(books.ledger.entries()).is_closed(D31)
    return books


def approve(books: Any, user: User) -> closing.Closed:
    """Approve the day."""
    return closing.approve(books.settings, one_day(DAY), now=LATER, user=user)


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
