"""Why a sealed order differs: each cause from a world that has it, and nothing else."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from pipelines.finance.released import FinanceError
from pipelines.ledger import LedgerError
from pipelines.ledger.closing import SEALED

pytestmark = pytest.mark.slow

OCTOBER, NOVEMBER = "2026-10-31T10:00:00Z", "2026-11-20T10:00:00Z"


@pytest.fixture
def sealed(books: Any) -> Any:
    """Seal a day with one order; order 2 was refused before, and order 3 stands on an open day."""
    books.land(1, created_at=OCTOBER, store_id=1, total_price="10.00")
    books.land(2, verdict="quarantined")
    books.land(3, created_at=NOVEMBER, store_id=1, total_price="5.00")
    books.publish()
    books.close("2026-10-31")
    books.publish()
    return books


def test_what_was_refused_or_elsewhere_when_the_day_was_sealed(sealed: Any, hours: tuple[int, int]) -> None:
    """A document that was refused and is mended is no late order, and one that moves in from an open day is none."""
    after = hours[1]
    sealed.land(2, after, created_at=OCTOBER, store_id=1, total_price="3.00")
    sealed.land(3, after, created_at=OCTOBER, store_id=1, total_price="5.00")
    sealed.land(4, after, created_at=OCTOBER, store_id=1, total_price="4.00")
    sealed.publish()
    assert sealed.causes() == {2: {"released_from_quarantine"}, 3: {"business_date_changed"}, 4: {"late_arriving"}}
    assert sealed.total("open") == Decimal(12)
    assert sealed.off() == []


def test_a_move_to_an_open_day_is_one_row(sealed: Any, hours: tuple[int, int]) -> None:
    """The sealed day loses the order; the open day has it, and seals it when its time comes: nothing counts twice."""
    sealed.land(1, hours[1], created_at=NOVEMBER, store_id=1, total_price="10.00")
    sealed.publish()
    assert sealed.restated("order_id", "difference", "cause") == [(1, Decimal(-10), "business_date_changed")]
    assert sealed.close("2026-11-20").orders == 2
    sealed.publish()
    assert sealed.total("now") == Decimal(15)
    assert (sealed.total("sealed"), sealed.total("open")) == (25, -10)
    assert sealed.off() == []


def test_a_move_between_sealed_days_nets_to_zero(sealed: Any, hours: tuple[int, int]) -> None:
    """What moved is two rows a part that net to zero; a part that changed on the way is changed by the partner."""
    sealed.close("2026-11-20")
    sealed.land(1, hours[1], created_at=NOVEMBER, store_id=1, total_price="12.00")
    sealed.publish()
    rows = sealed.all(
        "select part, cause, count(*), sum(difference) from mart.restatements where cause = 'business_date_changed' "
        "or part = 'total_price' group by all order by cause, part"
    )
    assert rows[0] == ("total_price", "source_changed", 2, 2)
    assert ("orders", "business_date_changed", 2, 0) in rows
    assert all(row[1:] == ("business_date_changed", 2, 0) for row in rows[1:])
    assert sealed.off() == []


def test_another_start_of_the_day_moves_orders_by_setting(sealed: Any) -> None:
    """The same document on another day, because [business_day] says so, is named by the setting."""
    sealed.set(business_day={"day_start": "11:00"})
    sealed.publish()
    assert sealed.causes() == {1: {"setting_changed"}}
    assert sealed.off() == []


def test_a_store_whose_clock_changes_moves_its_orders(sealed: Any) -> None:
    """The same document and settings on another day, by another timezone of the store, is a move."""
    sealed.world.land("stores", [{"id": 1, "document": sealed.store(1, timezone="Pacific/Kiritimati", currency=None)}])
    sealed.publish()
    assert sealed.causes() == {1: {"business_date_changed"}}
    assert sealed.off() == []


def test_an_order_that_is_gone_and_comes_back(sealed: Any, hours: tuple[int, int]) -> None:
    """Gone takes its money out of its class, back puts it in again; both stand in the list, and add up to nothing."""
    for hour in range(3):
        sealed.land(1, hours[1] + 2 * hour, verdict="missing")
    sealed.publish()
    sealed.land(1, hours[1] + 10, created_at=OCTOBER, store_id=1, total_price="10.00")
    sealed.publish()
    assert sealed.restated("sale_class", "difference", "cause") == [
        ("counted", -10, "gone"),
        ("deleted", 10, "gone"),
        ("counted", 10, "sale_class_changed"),
        ("deleted", -10, "sale_class_changed"),
    ]
    assert sealed.off() == []


def test_an_order_that_moves_in_after_a_setting_changed(books: Any, hours: tuple[int, int]) -> None:
    """Another [sales] moves no order, an old refusal that was mended mends nothing: only what moved it is named."""
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


def test_what_was_landed_between_the_release_and_its_seal_is_late(books: Any) -> None:
    """A day is sealed as its release has it: an order that was landed since, and before the seal, comes late."""
    books.land(1, created_at=OCTOBER, store_id=1)
    books.publish()
    load_id = f"{dt.datetime.now(dt.UTC):%Y%m%dT%H%M%S%f}-abcdef"
    books.world.land("orders", [{"id": 2, "document": books.order(2, created_at=OCTOBER)}], load_id=load_id)
    assert books.close("2026-10-31").orders == 1
    books.publish()
    assert books.causes() == {2: {"late_arriving"}}


def test_a_sealed_order_that_was_lost_stops_the_night(sealed: Any) -> None:
    """A document of a sealed order that is gone from data/raw is named, and nothing is published; reopening lets go."""
    for path in (sealed.world.data / "raw").rglob("20160101T000000000001-*"):
        path.unlink()
    for full in (True, False):
        with pytest.raises(FinanceError, match="1 sealed orders are in no landed document any more, such as 1 of 2026"):
            sealed.publish(full=full)
    assert sealed.off() == []
    assert list(sealed.ledger.entries("restated")) == []
    sealed.reopen("2026-10-31")
    sealed.publish()
    assert sealed.off() == []


@pytest.mark.parametrize("left", [0, 1])
def test_a_ledger_that_lacks_what_was_built_stops_the_build(sealed: Any, hours: tuple[int, int], left: int) -> None:
    """Acts cut off the end of the chain, or all of them, are missed by the next build, whole or not."""
    sealed.land(1, hours[1], created_at=OCTOBER, store_id=1, total_price="12.00")
    sealed.publish()
    chain = sealed.ledger.folder / "ledger.jsonl"
    acts = chain.read_bytes().splitlines(keepends=True)
    chain.write_bytes(b"".join(acts[:left]))
    for full in (False, True):
        with pytest.raises(LedgerError, match="lacks acts that the warehouse was built with"):
            sealed.publish(full=full)
    chain.write_bytes(b"".join(acts))
    sealed.publish()
    assert sealed.restated("difference", "cause") == [(2, "source_changed")]


def test_what_no_cause_explains_is_our_code(sealed: Any) -> None:
    """The same document, settings, rules and clocks with another amount can only come from us."""
    ledger = sealed.ledger
    (entry,) = ledger.entries("closed")
    rows = [row | {"tip": Decimal("0.5000")} for row in ledger.rows(entry).to_pylist()]
    sealed.reopen("2026-10-31")
    ledger.append("closed", entry.body, pa.Table.from_pylist(rows, schema=SEALED))
    sealed.publish()
    assert sealed.restated("difference", "cause", part="tip") == [(Decimal("-0.4999"), "pipeline_changed")]
    assert sealed.off() == []
