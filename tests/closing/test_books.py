"""Books by period: what days were closed with, plus postings, less reversals, is the present sum."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.finance import closing, released
from pipelines.finance.released import FinanceError, period_of
from pipelines.ledger import Closes, verify
from pipelines.report.audit_pack import make_pack
from pipelines.report.finance_views import reopened, restatements

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DAY, D31 = "2026-10-31", dt.date(2026, 10, 31)
AT = "2026-10-31T10:00:00Z"
CHANGE = Decimal("21.83")


def by_period(books: Any) -> dict[str, Decimal]:
    """Return the total_price in the books of each period."""
    return dict(
        books.all(
            "select period, sum(total_amount) from mart.period_books where measure = 'total_price' "
            "group by period order by period"
        )
    )


def there(books: Any) -> Decimal:
    """Return the current total_price of closed days, found from the orders."""
    found: Decimal = books.all(
        "select sum(total_price) from mart.orders where business_date in (select business_date from mart.closed_days)"
    )[0][0]
    return found


@pytest.fixture(scope="module")
def template(books_of: Callable[[Path], Any], hours: tuple[int, int], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Close October, restate it by +21.83, and post that to November."""
    books = books_of(tmp_path_factory.mktemp("posted") / "books")
    books.land(1, created_at=AT, store_id=1, total_price="100.00")
    books.land(2, created_at="2026-10-30T10:00:00Z", store_id=1, total_price="50.00")
    books.publish()
    books.close("2026-10")
    books.land(1, hours[1], created_at=AT, store_id=1, total_price="121.83")
    books.publish()
    books.post("2026-11")
    books.publish()
    return books


@pytest.fixture
def posted(template: Any, tmp_path: Path) -> Any:
    """Give a copy of those books."""
    return template.copied(tmp_path / "books")


@pytest.mark.long
def test_a_day_reopened_and_closed_again_is_counted_once(posted: Any) -> None:
    """What was posted is reversed in the period that holds it, by the reopening itself, which says so."""
    books = posted
    assert by_period(books) == {"2026-10": 150, "2026-11": CHANGE}
    done = closing.reopen(books.settings, D31, None, "a test")
    assert "Reversed in 2026-11: 1 posted restatement of this day, total_price -21.83" in "\n".join(reopened(done))
    books.publish()
    assert by_period(books) == {"2026-10": 50, "2026-11": 0}
    assert sum(by_period(books).values()) == there(books)
    books.close(DAY)
    books.publish()
    assert by_period(books) == {"2026-10": Decimal("171.83"), "2026-11": 0}
    assert sum(by_period(books).values()) == there(books)
    assert books.off() == []
    assert "(posted to 2026-11)  (reversed in 2026-11)" in "\n".join(
        restatements(closing.ledger_restatements(books.settings, everything=True))
    )
    assert closing.reopen(books.settings, D31, None, "a test").reversals == (), "a posting is reversed once"
    books.publish()
    assert by_period(books) == {"2026-10": 50, "2026-11": 0}
    before = books.world.contents()
    books.publish(full=True)
    assert books.world.contents() == before
    assert verify(books.ledger).entries == 6


@pytest.mark.slow
def test_a_closed_period_takes_no_postings(posted: Any, hours: tuple[int, int]) -> None:
    """Posting into a closed period is refused and writes nothing; a reversal goes to the period after it."""
    books = posted
    books.close("2026-11")
    books.land(1, hours[1] + 1, created_at=AT, store_id=1, total_price="122.83")
    books.publish()
    entries = verify(books.ledger).entries
    for period in ("2026-10", "2026-11"):
        with pytest.raises(FinanceError, match=f"{period} is closed: post to an open period, such as 2026-12"):
            books.post(period)
    assert verify(books.ledger).entries == entries
    books.reopen("2026-11-17")
    assert books.post("2026-11").restatement_count == 1
    books.close("2026-11")
    books.reopen(DAY)
    books.publish()
    assert by_period(books) == {"2026-10": 50, "2026-11": CHANGE + 1, "2026-12": -CHANGE - 1}
    assert sum(by_period(books).values()) == there(books)


@pytest.mark.slow
def test_a_period_closed_store_by_store_is_closed(books: Any) -> None:
    """Once each store with orders in it is closed on all of its days; a store reopened or new to it opens it."""
    october = period_of(books.settings, "2026-10")

    def is_closed() -> bool:
        state = closing.is_period_closed(books.settings, october, None)
        if state:
            with pytest.raises(FinanceError, match="2026-10 is closed: post to an open period, such as 2026-11"):
                books.post("2026-10")
        else:
            assert books.post("2026-10").restatement_count == 0
        return state

    books.land(1, created_at=AT, store_id=1)
    books.land(2, created_at="2026-10-30T10:00:00Z", store_id=2)
    books.publish()
    books.close("2026-10", 1)
    assert not is_closed(), "store 2 is open"
    books.close(DAY, 2)
    assert not is_closed(), "store 2 may have late orders on other days"
    books.close("2026-10", 2)
    assert is_closed()
    books.reopen("2026-10-05", 2)
    assert not is_closed()
    closes, orders = Closes(books.ledger.entries()), {D31: {1}}
    assert released.is_closed(closes, october, orders)
    assert not released.is_closed(closes, october, {D31: {1, 3}}), "store 3 is open"
    assert not released.is_closed(closes, october, {D31: {1, None}}), "an order has no store"
    assert not released.is_closed(closes, october, {}), "no store has orders"


@pytest.mark.slow
def test_an_order_built_before_a_close_but_not_released(
    books: Any, rules: dict[str, str], hours: tuple[int, int]
) -> None:
    """It is in no close; by an increment it takes the rules of its population, as by a rebuild."""
    books.set(formula=rules)
    books.land(1, created_at=AT, store_id=1)
    books.publish()
    books.land(2, hours[1], created_at=AT, store_id=1)
    closing.build_and_record(books.settings)
    assert books.close(DAY).order_count == 1
    books.publish()
    before = books.world.contents()
    assert books.restated("order_id", "cause") == [(2, "late_arriving")]
    books.publish(full=True)
    assert books.world.contents() == before


@pytest.mark.slow
def test_a_day_is_not_reopened_without_an_open_period(posted: Any) -> None:
    """With posted restatements and every period from the posting on closed a day stays closed; else it is reopened."""
    books = posted
    file: Path = books.settings.file.parent / "periods.csv"
    file.write_text("period,first_day,last_day\nP10,2026-10-01,2026-10-31\nP11,2026-11-01,2026-11-30\n")
    books.set(closing={"periods_file": "periods.csv"})
    books.publish()
    books.close("P11")
    with pytest.raises(FinanceError, match="1 restatements posted to 2026-11, and no period from then on is open"):
        books.reopen(DAY)
    books.reopen("2026-11-05")
    books.reopen(DAY)
    books.publish()
    assert by_period(books) == {"2026-10": 50, "2026-11": 0}
    books.close(DAY)
    books.publish()
    assert by_period(books) == {"2026-10": 50, "2026-11": 0, "P10": 100 + CHANGE}, "closed by the periods of today"


@pytest.mark.slow
def test_a_posting_is_reversed_in_the_period_that_holds_it(books: Any, hours: tuple[int, int]) -> None:
    """Also while the day's own period is open: October has all of the order, November nothing, nothing is negative."""
    books.land(1, created_at=AT, store_id=1, total_price="100.00")
    books.publish()
    books.close(DAY)
    books.land(1, hours[1], created_at=AT, store_id=1, total_price="101.00")
    books.publish()
    books.post("2026-11")
    books.reopen(DAY)
    books.close(DAY)
    books.publish()
    assert by_period(books) == {"2026-10": 101, "2026-11": 0}
    books.land(1, hours[1] + 1, created_at=AT, store_id=1, total_price="103.00")
    books.publish()
    books.post("2026-11")
    books.land(1, hours[1] + 2, created_at=AT, store_id=1, total_price="107.00")
    books.publish()
    books.post("2026-12")
    books.close("2026-11")
    text = "\n".join(reopened(closing.reopen(books.settings, D31, None, "a test")))
    assert "Reversed in 2026-12 (2026-11, which holds them, is closed): 1 posted restatement of this day" in text
    assert "Reversed in 2026-12: 1 posted restatement of this day, total_price -4.00" in text
    books.publish()
    assert by_period(books) == {"2026-11": 2, "2026-12": -2}
    before = books.world.contents()
    books.publish(full=True)
    assert books.world.contents() == before


@pytest.mark.long
def test_unposted_restatements_of_a_reopened_day_are_not_posted(books: Any, hours: tuple[int, int]) -> None:
    """The day is closed again with them: posting them, too, would book them twice."""
    books.land(1, created_at=AT, store_id=1, total_price="100.00")
    books.publish()
    books.close(DAY)
    books.land(1, hours[1], created_at=AT, store_id=1, total_price="101.00")
    books.publish()
    books.reopen(DAY)
    assert books.post("2026-11").restatement_count == 0
    books.close(DAY)
    assert books.post("2026-11").restatement_count == 0
    books.publish()
    assert by_period(books) == {"2026-10": 101}


@pytest.mark.long
def test_a_store_reopened_alone_reverses_its_own(books: Any, hours: tuple[int, int]) -> None:
    """Restatements of the day's other stores stay posted."""
    for store_id in (1, 2):
        books.land(store_id, created_at=AT, store_id=store_id, total_price="10.00")
    books.publish()
    books.close("2026-10")
    for store_id in (1, 2):
        books.land(store_id, hours[1], created_at=AT, store_id=store_id, total_price=f"1{store_id}.00")
    books.publish()
    books.post("2026-11")
    books.reopen(DAY, 2)
    books.publish()
    assert by_period(books) == {"2026-10": 10, "2026-11": 1}
    books.close(DAY)
    books.publish()
    assert by_period(books) == {"2026-10": 22, "2026-11": 1}
    assert sum(by_period(books).values()) == there(books) == 23


@pytest.mark.slow
def test_an_audit_pack_with_reversals_and_decisions_is_verified(posted: Any, tmp_path: Path) -> None:
    """The verifier in a pack, which knows no act, accepts the new ones; it has the rows of a reopening."""
    books = posted
    books.ledger.append("break_commented", {"order_ids": [1], "comment": "asked", "uid": 1, "as": None})
    closing.reopen(books.settings, D31, None, "a test")
    books.publish()
    out = tmp_path / "pack"
    make_pack(books.settings, period_of(books.settings, "2026-11"), out, sample=0)
    done = subprocess.run([sys.executable, "-I", str(out / "verify.py")], capture_output=True, text=True, check=False)
    assert (done.returncode, "Nothing was changed." in done.stdout) == (0, True), done.stdout
    assert (out / "ledger" / "000005-reopened.parquet").exists()
    assert ",2026-11,2026-11" in (out / "tables" / "mart.restatements.csv").read_text(encoding="utf-8")
