"""What stands in the way of sealing: each thing is a line, closing refuses, and exceptions are sealed with the day."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipelines.finance import closing
from pipelines.finance.periods import fiscal_periods, one_day, period_of, period_or_day
from pipelines.finance.released import FinanceError
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.ledger import Seals, verify
from pipelines.settings import SettingsError

OCTOBER, DAY = "2026-10-31T10:00:00Z", "2026-10-31"
RULES = {
    "total_rule": "observed/unrounded",
    "subtotal_rule": "line_price/no_modifiers/all_add/before_discount/unrounded",
}
# The day ends at midnight in Berlin, 23:00 UTC; a day later it may be sealed.
MAY_BE_SEALED = dt.datetime(2026, 11, 1, 23, tzinfo=dt.UTC)
CHECKED = 24  # hours after 2026-11-01 12:00 UTC


def said(found: list[str]) -> set[str]:
    """Return the first words of each sentence."""
    return {each.partition(":")[0].partition(",")[0] for each in found}


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory, books_of: Any) -> Any:
    """Publish a day in which nothing stands in the way of sealing; tests of this fixture seal nothing."""
    books = books_of(tmp_path_factory.mktemp("obstacles") / "books")
    books.set(formula=RULES)
    books.world.land("stores", [{"id": 1, "at": CHECKED, "document": books.store(1)}])
    for order_id in (1, 2):
        books.land(order_id, CHECKED, created_at=OCTOBER, store_id=1)
    books.publish()
    return books


def test_a_day_is_over_by_the_stores_clock(clean: Any) -> None:
    """Up to a second before its end and the hours to wait a day is not over; from then on nothing is in the way."""
    check = lambda now: closing.check(clean.settings, one_day(DAY), None, now)  # noqa: E731 - one line thrice
    (sentence,) = check(MAY_BE_SEALED - dt.timedelta(seconds=1))
    assert sentence.startswith("day not over: 2026-10-31 in Europe/Berlin may be sealed from 2026-11-01 23:00 UTC")
    assert check(MAY_BE_SEALED) == []


def test_ids_that_are_due_or_dead_or_missing(clean: Any) -> None:
    """The work list's due ids, dead letters and ids that were not found are in the way of a day."""
    at = MAY_BE_SEALED + dt.timedelta(days=3)
    with WorkList(inbox_path(clean.world.data), clock=lambda: at - dt.timedelta(hours=4)) as work:
        work.add("orders", [11, 12, 13], why="test")
        work.failed("orders", 12, "refused")
        for _ in range(4):
            work.not_found("orders", [13], at=at - dt.timedelta(hours=3))
    found = closing.check(clean.settings, one_day(DAY), None, at)
    assert said(found) == {"due and not fetched yet", "failed", "missing"}
    inbox_path(clean.world.data).unlink()


def test_orders_that_are_early_refused_or_unmapped(books: Any) -> None:
    """A refused id, an unmapped status, an early check and an undecided rule are each in the way, and are sealed."""
    books.land(1, created_at=OCTOBER, store_id=1)
    books.land(2, CHECKED, created_at=OCTOBER, store_id=1, status="odd")
    books.land(3, CHECKED, verdict="quarantined")
    books.publish()
    now = MAY_BE_SEALED + dt.timedelta(days=1)
    refused = closing.close(books.settings, one_day(DAY), now=now)
    assert refused.entry is None
    assert said(refused.obstacles) == {
        "orders last checked before their day could be sealed",
        "quarantined or failed",
        "unmapped",
        "rule undecided",
    }
    assert verify(books.ledger).entries == 0
    done = closing.close(books.settings, one_day(DAY), exceptions="agreed", now=now)
    assert done.entry
    assert done.entry.body["exceptions"] == {"reason": "agreed", "obstacles": refused.obstacles}
    (entry,) = books.ledger.entries("closed")
    assert entry.body["settings"]["sales"] == {"counted_statuses": ["done"], "excluded_statuses": ["refused"]}


def test_a_release_of_other_settings_is_not_sealed(clean: Any) -> None:
    """What would be sealed must be by the settings in force: another [sales] asks for a build first."""
    clean.set(sales={"counted_statuses": [], "excluded_statuses": []})
    try:
        with pytest.raises(FinanceError, match="run `ordermart build`"):
            closing.check(clean.settings, one_day(DAY), None, MAY_BE_SEALED)
    finally:
        clean.set(sales={"counted_statuses": ["done"], "excluded_statuses": ["refused"]})


def test_fiscal_periods(clean: Any) -> None:
    """A period of the file is known by its name, months all the same; a file that overlaps itself is refused."""
    file: Path = clean.settings.file.parent / "periods.csv"
    file.write_text("period,first_day,last_day\nP10,2026-09-28,2026-10-25\nP11,2026-10-26,2026-11-22\n")
    clean.set(closing={"periods_file": "periods.csv"})
    try:
        assert (period_of(clean.settings, "P11").first_day, len(period_of(clean.settings, "P11").days)) == (
            dt.date(2026, 10, 26),
            28,
        )
        assert period_or_day(clean.settings, "P11") == period_of(clean.settings, "P11")
        assert period_or_day(clean.settings, "2026-10-31") == one_day("2026-10-31")
        file.write_text("period,first_day,last_day\nFY26-P-11,2026-10-26,2026-11-22\n")
        assert period_or_day(clean.settings, "FY26-P-11").name == "FY26-P-11"
        assert period_of(clean.settings, "2026-02").last_day == dt.date(2026, 2, 28)
        with pytest.raises(SettingsError, match="'P12' is no period"):
            period_of(clean.settings, "P12")
        file.write_text("period,first_day,last_day\nA,2026-10-01,2026-10-31\nB,2026-10-31,2026-11-30\n")
        with pytest.raises(SettingsError, match="A and B overlap"):
            fiscal_periods(clean.settings)
        file.write_text("name\nA\n")
        with pytest.raises(SettingsError, match="must start with the line"):
            fiscal_periods(clean.settings)
    finally:
        clean.set(closing={})


def test_stores_are_sealed_and_opened_by_themselves(books: Any) -> None:
    """A store's day is sealed alone; the rest of the day leaves it; a store is opened alone and sealed again."""
    for order_id, store_id in ((1, 1), (2, 2), (3, None)):
        books.land(order_id, created_at=OCTOBER, store_id=store_id)
    books.publish()
    assert books.close(DAY, 1).orders == 1
    assert books.close(DAY).orders == 2
    books.reopen(DAY, 2)
    day = dt.date.fromisoformat(DAY)
    seals = Seals(books.ledger.entries())
    assert (seals.of(day, 1), seals.of(day, 2), seals.of(day, 3), seals.of(day, None)) == (1, None, 2, 2)
    assert books.close(DAY).orders == 1
    assert Seals(books.ledger.entries()).of(day, 2) == 4
    with pytest.raises(FinanceError, match="knows no store 99"):
        closing.close(books.settings, one_day("2026-10-01"), 99, exceptions="x")


@pytest.mark.slow
def test_the_commands(clean: Any) -> None:
    """Refused is 3, sealed is 0, sealed before is 1, wrong usage is 2; the head that was printed is verified."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pipelines.cli", *arguments, "--config", str(clean.settings.file)],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "ORDERMART_WAREHOUSE__THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    early = run("close", "--check", "2999-01-01")
    assert (early.returncode, "day not over" in early.stdout) == (3, True)
    assert run("close", "2999-01-01").returncode == 3
    done = run("close", DAY, "--with-exceptions", "a test")
    assert (done.returncode, "Closed 2026-10-31, as act 1: 2 orders" in done.stdout) == (0, True)
    assert run("close", DAY).returncode == 1
    assert run("close").returncode == 2
    assert run("close", "2026-11-01", "--with-exceptions", "  ").returncode == 2
    head = done.stdout.rpartition(": ")[2].strip()
    assert head in run("ledger", "verify", "--expect-head", head).stdout
    assert run("ledger", "verify", "--expect-head", "0" * 63 + "1").returncode == 1
    assert run("close", "reopen", DAY, "--reason", "a test").returncode == 0
    assert "No restatement is open" in run("restatements", "list").stdout
    assert run("restatements", "post", "--period", "2026-11").returncode == 0
    assert run("restatements", "post", "--period", "soon").returncode == 2
