"""Blockers in the books: control totals, store-days without orders, gaps between fiscal periods; and whole periods."""

from __future__ import annotations

import datetime as dt
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from pipelines import clock
from pipelines.finance import closing
from pipelines.finance.blockers import accept_no_orders
from pipelines.finance.reconciliation import reconciliation
from pipelines.finance.released import FinanceError, Selection, one_day, open_release, period_of
from pipelines.ledger import User, import_totals
from pipelines.report.finance_views import closed, reconciliation_lines

if TYPE_CHECKING:
    from pathlib import Path

DAY, LATER = "2026-10-31", dt.datetime(2026, 11, 9, tzinfo=dt.UTC)
CHECKED = 24
ANNE = User(1001, "Anne")
HEADER = "business_date,store_id,order_count,amount,amount_field,sale_classes"


@pytest.fixture(scope="module")
def books(
    tmp_path_factory: pytest.TempPathFactory, books_of: Any, rules: dict[str, str], balanced: dict[str, Any]
) -> Any:
    """Publish five Saturdays: store 1 has an order on each, store 2 on all but the last, store 3 on the first two."""
    made = books_of(tmp_path_factory.mktemp("book_blockers") / "books")
    made.set(formula=rules)
    stores = [{"id": each, "at": CHECKED, "document": made.store(each, currency="KWD")} for each in (1, 2, 3)]
    made.world.land("stores", stores)
    saturdays = [dt.date(2026, 10, 3) + dt.timedelta(days=7 * week) for week in range(5)]
    for store_id, days in ((1, saturdays), (2, saturdays[:-1]), (3, saturdays[:2])):
        for number, day in enumerate(days):
            made.land(10 * store_id + number, CHECKED, created_at=f"{day}T10:00:00Z", store_id=store_id, **balanced)
    made.publish()
    return made


@pytest.fixture
def fresh(books: Any) -> Any:
    """Give the world with an empty ledger."""
    books.empty_ledger()
    return books


def found(books: Any, what: str = DAY, store_id: int | None = None) -> list[str]:
    """Return the blockers for closing a day or a period."""
    period = one_day(what) if what.count("-") > 1 else period_of(books.settings, what)
    return closing.check(books.settings, period, store_id, LATER).against


@pytest.mark.slow
def test_a_store_day_without_its_usual_orders_blocks_until_it_is_accepted(
    fresh: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four Saturdays with orders, then none: a blocker; accepted once, with a reason, it is none any more."""
    (sentence,) = found(fresh)
    assert sentence.startswith("stores without orders on days that usually have some: 1 (2026-10-31 store 2);")
    assert found(fresh, store_id=1) == found(fresh, store_id=3) == []
    assert found(fresh, "2026-10-30") == [], "never any on a Friday"
    with pytest.raises(FinanceError, match="nothing to accept"):
        accept_no_orders(fresh.settings, one_day(DAY), 1, "closed", ANNE)
    noon = dt.datetime(2026, 10, 31, 12, tzinfo=dt.UTC)  # its orders may be placed yet
    not_over = closing.check(fresh.settings, one_day(DAY), None, noon).against
    assert [each.partition(":")[0] for each in not_over] == ["day not ended"]
    with monkeypatch.context() as at_noon:
        at_noon.setattr(clock, "_shift", noon - dt.datetime.now(dt.UTC))
        with pytest.raises(FinanceError, match="nothing to accept"):
            accept_no_orders(fresh.settings, one_day(DAY), None, "closed for repairs", ANNE)
    entry = accept_no_orders(fresh.settings, one_day(DAY), None, "closed for repairs", ANNE)
    assert entry.body == {
        "days": [{"day": DAY, "store_id": 2}],
        "reason": "closed for repairs",
        "uid": 1001,
        "as": "Anne",
    }
    assert found(fresh) == []
    with pytest.raises(FinanceError, match="nothing to accept"):
        accept_no_orders(fresh.settings, one_day(DAY), None, "again", ANNE)


@pytest.mark.slow
def test_control_totals_that_differ_or_are_absent_block_a_close(fresh: Any, tmp_path: Path) -> None:
    """A total of 9 orders against 1 is named with both figures, by close and by reconcile; so is one that is absent."""
    books = fresh
    accept_no_orders(books.settings, one_day(DAY), None, "closed", ANNE)
    file = tmp_path / "totals.csv"
    file.write_text(f"{HEADER}\n{DAY},1,9,12.5,total_price,all\n2026-10-24,2,1,8.25,total_price,all\n")
    import_totals(books.ledger, file)
    assert found(books) == ["control totals not compared yet: 1; run `ordermart build`"]
    books.publish()
    difference = "9 orders stated, 1 actual, 12.500 stated, 8.250 KWD actual"
    where = f"{DAY} store 1 total_price (counted+deleted+excluded+unmapped)"
    assert found(books) == [f"control totals that differ: 1 ({where}: {difference})"]
    with open_release(books.settings) as release:
        shown = " ".join(" ".join(reconciliation_lines(reconciliation(release, Selection()))).split())
    assert f"Control totals that differ {where}: {difference}" in shown
    assert "1 control total variance" in shown
    file.write_text(f"{HEADER}\n{DAY},1,1,8.25,total_price,all\n{DAY},7,1,,total_price,all\n")
    import_totals(books.ledger, file)
    books.publish()
    (sentence,) = found(books)
    assert sentence.startswith(f"control totals not comparable: 1 ({DAY} store 7")
    assert sentence.endswith(": store_unknown)")
    assert found(books, "2026-10-24") == []
    books.set(closing={"require_control_totals": True})
    try:
        assert found(books, "2026-10-24") == [
            "control totals absent: 1 (2026-10-24 store 1); `ordermart totals import`, then `ordermart build`"
        ]
        assert found(books, store_id=1) == []
    finally:
        books.set(closing={})


@pytest.mark.slow
def test_closed_days_of_a_period_do_not_block_its_others(fresh: Any, tmp_path: Path) -> None:
    """What was accepted with a day, or with a store's, is no blocker of the rest of the month."""
    books = fresh
    shutil.rmtree(books.settings.data_dir / "warehouse")  # it has the control totals of other tests
    books.publish()
    file = tmp_path / "totals.csv"
    file.write_text("\n".join([HEADER, *(f"{DAY},{store},9,1,total_price,counted" for store in (1, 2))]))
    import_totals(books.ledger, file)
    assert [each.partition(":")[0] for each in found(books, "2026-10")] == [
        "control totals not compared yet",
        "stores without orders on days that usually have some",
    ]
    books.close(DAY, 1)
    assert found(books, "2026-10") == found(books, "2026-10", 2) == found(books)
    assert found(books, "2026-10", 2)[0] == "control totals not compared yet: 1; run `ordermart build`"
    assert found(books, "2026-10", 1) == []
    books.close(DAY)
    assert found(books, "2026-10") == found(books) == []


@pytest.mark.slow
def test_a_gap_between_fiscal_periods_blocks_a_close(fresh: Any) -> None:
    """Days in neither of two periods are named; a gap after the days that are closed does not block."""
    file: Path = fresh.settings.file.parent / "periods.csv"
    fresh.set(closing={"periods_file": "periods.csv"})
    try:
        head = "period,first_day,last_day\n"
        file.write_text(f"{head}P9,2026-09-01,2026-09-30\nP10,2026-10-03,2026-10-31\nP11,2026-11-02,2026-11-30\n")
        assert [each for each in found(fresh, "P10", 1) if each.startswith("gap")] == [
            "gap between fiscal periods: 2026-10-01 to 2026-10-02 are neither in P9 nor in P10; correct the file"
        ]
        file.write_text(f"{head}P9,2026-09-01,2026-09-30\nP10,2026-10-01,2026-10-31\nP11,2026-11-02,2026-11-30\n")
        assert [each for each in found(fresh, "P10", 1) if each.startswith("gap")] == []
        assert [each for each in found(fresh, "P11", 1) if each.startswith("gap")] == [
            "gap between fiscal periods: 2026-11-01 is neither in P10 nor in P11; correct the file"
        ]
    finally:
        fresh.set(closing={})


@pytest.mark.slow
def test_a_period_after_single_days_shows_its_whole_amount(fresh: Any) -> None:
    """October after two of its days: the orders of this close, and those of all closes of October."""
    fresh.close("2026-10-03")
    fresh.close("2026-10-10", 2)
    october = period_of(fresh.settings, "2026-10")
    text = "\n".join(closed(october, closing.close(fresh.settings, october, exceptions="a test")))
    assert "counted          7 orders   total_price 57.750 KWD" in text
    assert "All closed orders of 2026-10 (2026-10-01 to 2026-10-31): 11.\n" in text
    assert "counted         11 orders   total_price 90.750 KWD" in text
    fresh.reopen("2026-10-31")
    again = closing.close(fresh.settings, one_day(DAY), exceptions="a test")
    assert "All closed orders" not in "\n".join(closed(one_day(DAY), again))
