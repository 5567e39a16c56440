"""A closed day whose store changes its currency: restated out of the old one and into the new, by currency."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from pipelines.finance.reconciliation import reconciliation
from pipelines.finance.released import Selection, open_release
from pipelines.report.finance_views import verdict

DAY, AT = "2026-10-31", "2026-10-31T10:00:00Z"
AMOUNTS = "currency, closed_amount, posted_amount, unposted_amount, current_amount"


@pytest.fixture
def closed(books: Any) -> Any:
    """Close a day of a store in EUR with one order of 100.00."""
    bill(books, "EUR")
    books.land(1, created_at=AT, store_id=1, total_price="100.00")
    books.publish()
    books.close("2026-10")
    books.publish()
    return books


def bill(books: Any, currency: str | None, at: int = -80_000) -> None:
    """Land a record of the store with this currency."""
    books.world.land("stores", [{"id": 1, "at": at, "document": books.store(1, currency=currency)}])


def shown(books: Any) -> list[tuple[Any, ...]]:
    """Return what closed days show of total_price, by currency."""
    return books.all(f"select {AMOUNTS} from mart.closed_days where measure = 'total_price' order by currency")


@pytest.mark.slow
def test_another_currency_is_restated_out_of_the_old_and_into_the_new(closed: Any) -> None:
    """Equal figures in another currency are a restatement of all of them; reconcile is not balanced."""
    bill(closed, "USD")
    closed.publish()
    assert closed.restated("currency", "restatement_amount", "cause") == [
        ("EUR", -100, "currency_changed"),
        ("USD", 100, "currency_changed"),
    ]
    assert shown(closed) == [("EUR", 100, 0, -100, 0), ("USD", 0, 0, 100, 100)]
    assert closed.off() == []
    with open_release(closed.settings) as release:
        found = reconciliation(release, Selection())
        assert not found.assess().is_good
        assert "unposted restatements" in verdict(found)
        assert {row["currency"] for row in found.unposted_restatements()} == {"EUR", "USD"}
    before = closed.world.contents()
    closed.publish(full=True)
    assert closed.world.contents() == before


@pytest.mark.long
def test_what_was_posted_goes_out_in_its_currency(closed: Any, hours: tuple[int, int]) -> None:
    """Closed 100.00 EUR, posted to 121.00, then 130.00 PEN: 121.00 EUR go out and 130.00 PEN come in."""
    closed.land(1, hours[1], created_at=AT, store_id=1, total_price="121.00")
    closed.publish()
    closed.post("2026-11")
    bill(closed, "PEN")
    closed.land(1, hours[1] + 1, created_at=AT, store_id=1, total_price="130.00")
    closed.publish()
    assert closed.restated("currency", "restatement_amount", "cause")[1:] == [
        ("EUR", -121, "source_changed"),
        ("PEN", 130, "source_changed"),
    ]
    assert shown(closed) == [("EUR", 100, 21, -121, 0), ("PEN", 0, 0, 130, 130)]
    closed.post("2026-11")
    closed.publish()
    assert shown(closed) == [("EUR", 100, -100, 0, 0), ("PEN", 0, 130, 0, 130)]
    bill(closed, "EUR")
    closed.publish()
    assert closed.restated("currency", "restatement_amount", "cause")[3:] == [
        ("EUR", 130, "currency_changed"),
        ("PEN", -130, "currency_changed"),
    ]
    closed.reopen(DAY)
    closed.close(DAY)
    closed.publish()
    assert shown(closed) == [("EUR", Decimal(130), 0, 0, 130)]
