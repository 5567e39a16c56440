"""Blockers: each is a line, a close with blockers is refused, and exceptions are recorded with it."""

from __future__ import annotations

import datetime as dt
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.finance import closing
from pipelines.finance.blockers import KINDS_OF_BLOCKERS, reason_by_kind, reasons_given
from pipelines.finance.released import FinanceError, fiscal_periods, one_day, period_of, period_or_day
from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList
from pipelines.ledger import Closes, verify
from pipelines.report.finance_views import closed
from pipelines.settings import SettingsError
from tests.forked import ordermart

if TYPE_CHECKING:
    import subprocess

OCTOBER, DAY = "2026-10-31T10:00:00Z", "2026-10-31"
# The day ends at midnight in Berlin, 23:00 UTC; a day later it can be closed.
CAN_BE_CLOSED = dt.datetime(2026, 11, 1, 23, tzinfo=dt.UTC)
CHECKED = 24  # hours after 2026-11-01 12:00 UTC


def heads(found: list[str]) -> set[str]:
    """Return the first words of each sentence."""
    return {blocker.partition(":")[0].partition(",")[0] for blocker in found}


@pytest.fixture(scope="module")
def clean(
    tmp_path_factory: pytest.TempPathFactory, books_of: Any, rules: dict[str, str], balanced: dict[str, Any]
) -> Any:
    """Publish a day without blockers; tests of this fixture close nothing."""
    books = books_of(tmp_path_factory.mktemp("blockers") / "books")
    books.set(formula=rules)
    books.world.land("stores", [{"id": 1, "at": CHECKED, "document": books.store(1)}])
    for order_id in (1, 2):
        books.land(order_id, CHECKED, created_at=OCTOBER, store_id=1, **balanced)
    books.publish()
    return books


@pytest.mark.slow
def test_a_day_ends_in_the_stores_time_zone(clean: Any) -> None:
    """A second before its end plus close_after_hours a day has not ended; from then on there are no blockers."""
    check = lambda now: closing.check(clean.settings, one_day(DAY), None, now).against  # noqa: E731 - one line thrice
    (sentence,) = check(CAN_BE_CLOSED - dt.timedelta(seconds=1))
    assert sentence.startswith("day not ended: 2026-10-31 in Europe/Berlin can be closed from 2026-11-01 23:00 UTC")
    assert check(CAN_BE_CLOSED) == []


@pytest.mark.slow
def test_an_id_that_comes_back_blocks_both_days(clean: Any, balanced: dict[str, Any], tmp_path: Path) -> None:
    """The day of the order that is gone cannot be closed, nor that of the new one, until a person decides."""
    books = clean.copied(tmp_path / "books")
    books.land(2, CHECKED + 480, created_at="2026-11-20T15:00:00Z", store_id=2, **balanced)
    books.publish()
    at, name = CAN_BE_CLOSED + dt.timedelta(days=60), "ids reused for another order"
    for day, is_blocked in ((DAY, True), ("2026-11-20", True), ("2026-11-10", False)):
        found = closing.check(books.settings, one_day(day), None, at).against
        assert (name in heads(found)) == is_blocked
    assert books.world.rows("select store_id from core.orders where order_id = 2") == [(1,)]
    books.set(closing={"replaced_orders": [2]})
    books.publish()
    assert books.world.rows("select store_id from core.orders where order_id = 2") == [(2,)]
    assert name not in heads(closing.check(books.settings, one_day(DAY), None, at).against)


@pytest.mark.slow
def test_unfinished_work_is_a_blocker(clean: Any) -> None:
    """Due ids, failed ids, dead-letter ids and ids that were not found block a close."""
    at = CAN_BE_CLOSED + dt.timedelta(days=3)
    with WorkList(inbox_path(clean.world.data), clock=lambda: at - dt.timedelta(hours=4)) as work:
        work.add("orders", [11, 12, 13, 14], why="test")
        work.rejected("orders", [12], "no_id", 1)
        work.failed("orders", [14], "timeout", at=at - dt.timedelta(minutes=1))
        for _ in range(4):
            work.not_found("orders", [13], at=at - dt.timedelta(hours=3))
    found = closing.check(clean.settings, one_day(DAY), None, at).against
    assert heads(found) == {
        "due and not fetched yet",
        "failed and asked for again later",
        "in the dead-letter queue",
        "not found (404)",
    }
    inbox_path(clean.world.data).unlink()


@pytest.mark.slow
def test_an_unknown_order_blocks_if_the_day_had_begun_anywhere(clean: Any) -> None:
    """The day begins in the Pacific, 14 hours before UTC: an id not found since then may be of it, one before not."""
    begins = dt.datetime(2026, 10, 30, 10, tzinfo=dt.UTC)
    for order_id, at in ((14, begins + dt.timedelta(minutes=1)), (15, begins - dt.timedelta(minutes=1))):
        with WorkList(inbox_path(clean.world.data), clock=lambda at=at: at) as work:
            work.add("orders", [order_id], why="test")
            for _ in range(4):
                work.not_found("orders", [order_id], at=at)
    assert closing.check(clean.settings, one_day(DAY), None, CAN_BE_CLOSED).against == ["not found (404): 1 (14)"]
    inbox_path(clean.world.data).unlink()


@pytest.mark.slow
def test_blockers_are_recorded_as_exceptions(books: Any) -> None:
    """Early checks, quarantined orders, unmapped statuses and missing rules block a close and are recorded."""
    books.land(1, created_at=OCTOBER, store_id=1)
    books.land(2, CHECKED, created_at=OCTOBER, store_id=1, status="odd")
    books.land(3, CHECKED, verdict="quarantined")
    books.publish()
    now = CAN_BE_CLOSED + dt.timedelta(days=1)
    refused = closing.close(books.settings, one_day(DAY), now=now)
    assert refused.entry is None
    assert heads(refused.blockers) == {
        "orders last checked before their day could be closed",
        "quarantined or failed",
        "unmapped",
        "indeterminate",
    }
    assert verify(books.ledger).entries == 0
    done = closing.close(books.settings, one_day(DAY), exceptions="agreed", now=now)
    assert done.entry
    assert done.entry.body["exceptions"] == {"reason": "agreed", "blockers": refused.blockers}
    (entry,) = books.ledger.entries("closed")
    assert entry.body["settings"]["sales"] == {"counted_statuses": ["done"], "excluded_statuses": ["refused"]}


@pytest.mark.slow
def test_a_release_of_other_settings_is_not_closed(clean: Any) -> None:
    """The release must be built with the current settings: another [sales] needs a build first."""
    clean.set(sales={"counted_statuses": [], "excluded_statuses": []})
    try:
        with pytest.raises(FinanceError, match="run `ordermart build`"):
            closing.check(clean.settings, one_day(DAY), None, CAN_BE_CLOSED)
    finally:
        clean.set(sales={"counted_statuses": ["done"], "excluded_statuses": ["refused"]})


@pytest.mark.slow
def test_a_store_that_does_not_exist_is_refused(clean: Any) -> None:
    """It has no blockers and no open day, which does not mean that its day can be closed."""
    assert closing.check(clean.settings, one_day(DAY), 1, CAN_BE_CLOSED).is_good
    assert not closing.is_period_closed(clean.settings, one_day(DAY), 1)
    for asked in (closing.check, closing.is_period_closed):
        with pytest.raises(FinanceError, match="--store: the release has no store 99"):
            asked(clean.settings, one_day(DAY), 99)


@pytest.mark.slow
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
        with pytest.raises(SettingsError, match="'P12' is not a valid period"):
            period_of(clean.settings, "P12")
        file.write_text("period,first_day,last_day\nA,2026-10-01,2026-10-31\nB,2026-10-31,2026-11-30\n")
        with pytest.raises(SettingsError, match="A and B overlap"):
            fiscal_periods(clean.settings)
        file.write_text("name\nA\n")
        with pytest.raises(SettingsError, match="must start with the line"):
            fiscal_periods(clean.settings)
    finally:
        clean.set(closing={})


@pytest.mark.slow
def test_orders_of_closed_days_do_not_block_their_period(books: Any) -> None:
    """Orders of unmapped statuses that were accepted with their day are no blocker of the rest of the month."""
    books.land(1, CHECKED, created_at=OCTOBER, store_id=1, status="odd")
    books.land(2, CHECKED, created_at="2026-10-30T10:00:00Z", store_id=1)
    books.publish()
    october, now = period_of(books.settings, "2026-10"), CAN_BE_CLOSED + dt.timedelta(days=9)
    assert "unmapped" in heads(closing.check(books.settings, october, None, now).against)
    books.close(DAY)
    assert "unmapped" not in heads(closing.check(books.settings, october, None, now).against)
    before = CAN_BE_CLOSED - dt.timedelta(seconds=1)
    assert "day not ended" not in heads(closing.check(books.settings, october, None, before).against)
    kinds = {kind: f"of {kind}" for kind in ("rules", "missing", "time", "stores", "breaks", "totals", "periods")}
    done = closing.close(books.settings, october, exceptions={**kinds, "": "the rest"}, now=now)
    assert done.entry
    assert not any("unmapped" in each for each in done.entry.body["exceptions"]["blockers"])


@pytest.mark.slow
def test_stores_are_closed_and_reopened_separately(books: Any) -> None:
    """A store is closed alone and left by the rest of the day; a store is reopened alone and closed again."""
    for order_id, store_id in ((1, 1), (2, 2), (3, None)):
        books.land(order_id, created_at=OCTOBER, store_id=store_id)
    books.publish()
    assert books.close(DAY, 1).order_count == 1
    assert books.close(DAY).order_count == 2
    books.reopen(DAY, 2)
    day = dt.date.fromisoformat(DAY)
    closes = Closes(books.ledger.entries())
    assert (closes.of(day, 1), closes.of(day, 2), closes.of(day, 3), closes.of(day, None)) == (1, None, 2, 2)
    assert books.close(DAY).order_count == 1
    assert Closes(books.ledger.entries()).of(day, 2) == 4
    with pytest.raises(FinanceError, match="has no store 99"):
        closing.close(books.settings, one_day("2026-10-01"), 99, exceptions="x")


@pytest.mark.slow
def test_the_commands(clean: Any) -> None:
    """Blocked exits 3, closed 0, already closed 1, wrong usage 2; the printed head verifies."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environ = {**os.environ, "ORDERMART_WAREHOUSE__THREADS": "1"}
        return ordermart((*arguments, "--config", str(clean.settings.file)), environ, timeout=120)

    early = run("close", "--check", "2099-01-01")
    assert (early.returncode, "day not ended" in early.stdout) == (3, True)
    assert run("close", "2099-01-01").returncode == 3
    done = run("close", DAY, "--with-exceptions", "a test")
    assert (done.returncode, "Closed 2026-10-31 as ledger entry 1: 2 orders" in done.stdout) == (0, True)
    assert run("close", DAY).returncode == 1
    assert run("close").returncode == 2
    assert run("close", "2026-11-01", "--with-exceptions", "  ").returncode == 2
    head = done.stdout.rpartition(": ")[2].strip()
    assert head in run("ledger", "verify", "--expect-head", head).stdout
    assert run("ledger", "verify", "--expect-head", "0" * 63 + "1").returncode == 1
    assert run("close", "reopen", DAY, "--reason", "a test").returncode == 0
    assert "No unposted restatements" in run("restatements", "list").stdout
    assert run("restatements", "post", "--period", "2026-11").returncode == 0
    assert run("restatements", "post", "--period", "soon").returncode == 2


def test_each_kind_of_blocker_has_its_reason() -> None:
    """One word is none for four kinds; what lacks a reason is named."""
    blockers = ["day not ended: …", "due and not fetched yet: 3", "breaks above the tolerance: 1", "unmapped, …"]
    everything = {"time": "a", "missing": "b", "breaks": "c", "statuses": "d"}
    assert reason_by_kind(blockers, {"": "x"})[1] == ["time", "statuses", "breaks", "missing"]
    assert reason_by_kind(blockers, {**everything, "breaks": "", "": "x"})[1] == ["breaks"]
    assert reason_by_kind(blockers, everything) == ("time: a; statuses: d; breaks: c; missing: b", [])
    assert reason_by_kind(blockers, {"": "all was looked at"}) == ("all was looked at", [])
    assert reason_by_kind(blockers[:1], {"": "x"}) == ("x", [])
    assert reason_by_kind(blockers[:1] * 2, {}) == ("", ["time"])
    assert reason_by_kind([], {"": "x"}) == ("", [])
    assert reasons_given(["breaks=a = b", "odd = c", "time= d "]) == {"breaks": "a = b", "": "odd = c", "time": "d"}
    refused = [*closed(one_day(DAY), closing.Closed(None, blockers, lacking=("time", "breaks")))]
    assert refused[-1].endswith('--with-exceptions "time=REASON" --with-exceptions "breaks=REASON".')


def test_the_document_names_each_kind_that_takes_a_reason() -> None:
    """`--with-exceptions KIND=REASON` takes the kinds that docs/FINANCE.md lists, and no other."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "FINANCE.md").read_text("utf-8")
    listed = text.partition("\nBlockers, each")[2].partition("\n\n")[2].partition("\n\n")[0]
    kinds = re.findall(r"\*\*(\w+)\*\*", listed)
    assert sorted(kinds) == sorted(KINDS_OF_BLOCKERS)
    assert reasons_given([f"{kind}=why" for kind in kinds]) == dict.fromkeys(kinds, "why")
