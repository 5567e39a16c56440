"""Causes of restatements: each from a world that has that cause and nothing else."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from pipelines.finance.released import FinanceError
from pipelines.inventory import accept
from pipelines.landing.raw_folder import RawDamageError
from pipelines.ledger import CLOSED_ORDERS, LedgerError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow

OCTOBER, NOVEMBER = "2026-10-31T10:00:00Z", "2026-11-20T10:00:00Z"


@pytest.fixture(scope="module")
def template(books_of: Callable[[Path], Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Close a day with one order; order 2 was quarantined before, and order 3 is on an unclosed day."""
    books = books_of(tmp_path_factory.mktemp("causes") / "books")
    books.land(1, created_at=OCTOBER, store_id=1, total_price="10.00")
    books.land(2, verdict="quarantined")
    books.land(3, created_at=NOVEMBER, store_id=1, total_price="5.00")
    books.publish()
    books.close("2026-10-31")
    books.publish()
    return books


@pytest.fixture
def closed(template: Any, tmp_path: Path) -> Any:
    """Give a copy of those books."""
    return template.copied(tmp_path / "books")


def test_an_order_is_new_to_a_closed_day(closed: Any, hours: tuple[int, int]) -> None:
    """An order released from quarantine and one that moves in from an unclosed day are not late-arriving."""
    after = hours[1]
    closed.land(2, after, created_at=OCTOBER, store_id=1, total_price="3.00")
    closed.land(3, after, created_at=OCTOBER, store_id=1, total_price="5.00")
    closed.land(4, after, created_at=OCTOBER, store_id=1, total_price="4.00")
    closed.publish()
    assert closed.causes() == {2: {"released_from_quarantine"}, 3: {"business_date_changed"}, 4: {"late_arriving"}}
    assert closed.total("unposted_amount") == Decimal(12)
    assert closed.off() == []


@pytest.mark.long
def test_a_move_to_an_unclosed_day_is_one_row(closed: Any, hours: tuple[int, int]) -> None:
    """The closed day loses the order; the unclosed day has it, and closes with it: nothing counts twice."""
    closed.land(1, hours[1], created_at=NOVEMBER, store_id=1, total_price="10.00")
    closed.publish()
    assert closed.restated("order_id", "restatement_amount", "cause") == [(1, Decimal(-10), "business_date_changed")]
    assert closed.close("2026-11-20").order_count == 2
    closed.publish()
    assert closed.total("current_amount") == Decimal(15)
    assert (closed.total("closed_amount"), closed.total("unposted_amount")) == (25, -10)
    assert closed.off() == []


def test_a_move_between_closed_days_nets_to_zero(closed: Any, hours: tuple[int, int]) -> None:
    """A move is two rows per measure that net to zero; if an amount changed too, all of them are source_changed."""
    closed.close("2026-11-20")
    closed.land(1, hours[1], created_at=NOVEMBER, store_id=1, total_price="10.00")
    closed.land(3, hours[1], created_at=OCTOBER, store_id=1, total_price="6.00")
    closed.publish()
    rows = closed.all(
        "select order_id, measure, cause, count(*), sum(restatement_amount) from mart.restatements group by all"
    )
    assert {row[2:] for row in rows if row[0] == 1} == {("business_date_changed", 2, 0)}
    assert {row[2] for row in rows if row[0] == 3} == {"source_changed"}
    assert (3, "total_price", "source_changed", 2, 1) in rows
    assert closed.off() == []


@pytest.mark.long
def test_an_order_moves_to_another_store(closed: Any, hours: tuple[int, int]) -> None:
    """On a closed day or to an open one, and back in: the cause is the store; a null time is a lost date.

    Another store and another creation time are another order with the same id: it is held.
    """
    for order_id in (11, 12, 13):
        closed.land(order_id, created_at=NOVEMBER, store_id=1)
    closed.publish()
    closed.close("2026-11-20", 1)
    after = hours[1]
    closed.land(1, after, created_at=OCTOBER, store_id=2, total_price="10.00")
    closed.land(11, after, created_at=NOVEMBER, store_id=2)
    closed.land(12, after, created_at=None, store_id=1)
    closed.land(13, after, created_at=OCTOBER, store_id=2)
    closed.publish()
    assert closed.causes() == {
        1: {"moved_to_another_store"},
        11: {"moved_to_another_store"},
        12: {"lost_its_date"},
    }
    assert closed.restated("order_id", "store_id", "restatement_amount")[:2] == [(1, 1, -10), (1, 2, 10)]
    closed.land(11, after + 1, created_at=NOVEMBER, store_id=1)
    closed.publish()
    assert closed.causes()[11] == {"moved_to_another_store"}
    assert closed.off() == []


def test_a_changed_day_start_is_a_setting_change(closed: Any) -> None:
    """The same document on another day because of [business_day] has cause setting_changed."""
    closed.set(business_day={"day_start": "11:00"})
    closed.publish()
    assert closed.causes() == {1: {"setting_changed"}}
    assert closed.off() == []


@pytest.mark.long
def test_a_changed_time_zone_is_a_date_change(closed: Any) -> None:
    """The same document on another day because of the store's time zone has cause business_date_changed."""
    closed.world.land("stores", [{"id": 1, "document": closed.store(1, timezone="Pacific/Kiritimati", currency=None)}])
    closed.publish()
    assert closed.causes() == {1: {"business_date_changed"}}
    assert closed.off() == []


def test_changed_dayparts_move_no_order(closed: Any) -> None:
    """Dayparts that changed at the same time are not the cause."""
    closed.set(business_day={"dayparts": []})
    closed.world.land("stores", [{"id": 1, "document": closed.store(1, timezone="Pacific/Kiritimati", currency=None)}])
    closed.publish()
    assert closed.causes() == {1: {"business_date_changed"}}


@pytest.mark.long
def test_a_deleted_order_that_reappears(closed: Any, hours: tuple[int, int]) -> None:
    """Deletion moves the amount to sale class deleted, reappearance moves it back; the rows net to zero."""
    for hour in range(3):
        closed.land(1, hours[1] + 2 * hour, verdict="missing")
    closed.publish()
    closed.land(1, hours[1] + 10, created_at=OCTOBER, store_id=1, total_price="10.00")
    closed.publish()
    assert closed.restated("sale_class", "restatement_amount", "cause") == [
        ("counted", -10, "deleted"),
        ("deleted", 10, "deleted"),
        ("counted", 10, "sale_class_changed"),
        ("deleted", -10, "sale_class_changed"),
    ]
    assert closed.off() == []


@pytest.mark.long
def test_an_order_that_moves_in_after_a_setting_changed(books: Any, hours: tuple[int, int]) -> None:
    """Neither a changed [sales] nor an old quarantine is the cause of a move that has another one."""
    books.land(1, created_at=OCTOBER, store_id=1)
    books.land(2, created_at=NOVEMBER, store_id=1)
    books.land(3, verdict="quarantined")
    books.land(3, hours[0] + 5, created_at=NOVEMBER, store_id=1)
    books.land(4, created_at="2026-11-01T10:00:00Z", store_id=1)
    books.publish()
    books.close("2026-10-31")
    books.set(sales={"counted_statuses": ["done", "ready"], "excluded_statuses": ["refused"]})
    books.publish()
    for order_id in (2, 3):
        books.land(order_id, hours[1], created_at=OCTOBER, store_id=1)
    books.publish()
    assert books.causes() == {2: {"business_date_changed"}, 3: {"business_date_changed"}}
    books.set(business_day={"day_start": "11:00"})
    books.publish()
    assert books.all("select distinct cause from mart.restatements where order_id in (1, 4)") == [("setting_changed",)]
    assert books.off() == []


@pytest.mark.long
def test_an_order_landed_between_release_and_close_is_late(books: Any) -> None:
    """A day is closed as its release has it: an order landed since is late-arriving."""
    books.land(1, created_at=OCTOBER, store_id=1)
    books.publish()
    load_id = f"{dt.datetime.now(dt.UTC):%Y%m%dT%H%M%S%f}-abcdef"
    books.world.land("orders", [{"id": 2, "document": books.order(2, created_at=OCTOBER)}], load_id=load_id)
    assert books.close("2026-10-31").order_count == 1
    books.publish()
    assert books.causes() == {2: {"late_arriving"}}


def test_a_lost_order_of_a_closed_day_stops_the_build(closed: Any) -> None:
    """A closed order missing from data/raw is named, and nothing is published until its day is reopened."""
    for path in (closed.world.data / "raw").rglob("20160101T000000000001-*"):
        path.unlink()
    with pytest.raises(RawDamageError, match="missing"):
        closed.publish()
    accept(closed.world.data)  # given up for good, as the error says
    for full in (True, False):
        with pytest.raises(FinanceError, match="1 orders of closed days are missing from data/raw, such as 1 of 2026"):
            closed.publish(full=full)
    assert closed.off() == []
    assert list(closed.ledger.entries("restated")) == []
    closed.reopen("2026-10-31")
    closed.publish()
    assert closed.off() == []


@pytest.mark.parametrize("left", [0, pytest.param(1, marks=pytest.mark.long)])
def test_a_ledger_that_lacks_what_was_built_stops_the_build(closed: Any, hours: tuple[int, int], left: int) -> None:
    """Entries cut off the end of the chain stop the next build, full or incremental."""
    closed.land(1, hours[1], created_at=OCTOBER, store_id=1, total_price="12.00")
    closed.publish()
    chain = closed.ledger.folder / "ledger.jsonl"
    acts = chain.read_bytes().splitlines(keepends=True)
    chain.write_bytes(b"".join(acts[:left]))
    for full in (False, True):
        with pytest.raises(LedgerError, match="entries were removed"):
            closed.publish(full=full)
    chain.write_bytes(b"".join(acts))
    closed.publish()
    assert closed.restated("restatement_amount", "cause") == [(2, "source_changed")]


def test_an_unexplained_change_is_a_pipeline_change(closed: Any) -> None:
    """The same document, settings, rules and time zone with another amount has cause pipeline_changed."""
    ledger = closed.ledger
    (entry,) = ledger.entries("closed")
    rows = [row | {"tip": Decimal("0.5000")} for row in ledger.rows(entry).to_pylist()]
    closed.reopen("2026-10-31")
    ledger.append("closed", entry.body, pa.Table.from_pylist(rows, schema=CLOSED_ORDERS))
    closed.publish()
    assert closed.restated("restatement_amount", "cause", measure="tip") == [(Decimal("-0.4999"), "pipeline_changed")]
    assert closed.off() == []
