"""Which close is active for a store's day, whatever was closed and reopened before."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.ledger import Closes, Ledger

if TYPE_CHECKING:
    from pathlib import Path

DAY = dt.date(2026, 10, 31)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Give an empty ledger."""
    return Ledger(tmp_path / "ledger")


def close(ledger: Ledger, stores: list[int] | None, **body: Any) -> int:
    """Close the day for all stores or for some; return the entry's number."""
    return ledger.append("closed", {"days": [{"day": f"{DAY}", "stores": stores}]} | body).no


def reopen(ledger: Ledger, store_id: int | None) -> None:
    """Reopen the day, of all stores or of one."""
    ledger.append("reopened", {"day": f"{DAY}", "store_id": store_id})


def test_a_reopened_store_does_not_fall_back_to_the_close_of_the_day(ledger: Ledger) -> None:
    """The day's close stays that of the others; a store that was closed alone before is open, too."""
    every = close(ledger, None)
    reopen(ledger, 2)
    close(ledger, [3])
    reopen(ledger, 3)
    closes = Closes(ledger.entries())
    assert [closes.of(DAY, store) for store in (1, 2, 3, None)] == [every, None, None, every]
    assert closes.unclosed_stores(DAY, None) == [2, 3]


def test_closing_the_day_closes_reopened_stores_and_keeps_closed_ones(ledger: Ledger) -> None:
    """A store that was closed and reopened alone gets the day's close; one that is closed alone keeps its own."""
    own = close(ledger, [2])
    close(ledger, [3])
    reopen(ledger, 3)
    every = close(ledger, None)
    closes = Closes(ledger.entries())
    assert [closes.of(DAY, store) for store in (1, 2, 3, None)] == [every, own, every, every]
    assert closes.is_closed(DAY)
    reopen(ledger, None)
    assert not Closes(ledger.entries()).is_any(DAY, None)


def test_a_closed_day_has_the_period_of_its_entry(ledger: Ledger) -> None:
    """The day's own, else the entry's, else the month: older entries say less."""
    close(ledger, [1])
    close(ledger, [2], period="P10")
    ledger.append("closed", {"days": [{"day": f"{DAY}", "stores": [3], "period": "P11"}], "period": "P10"})
    reopen(ledger, 1)
    close(ledger, [1])
    assert [(each.store_id, each.period) for each in Closes(ledger.entries()).rows()] == [
        (1, "2026-10"),
        (2, "P10"),
        (3, "P11"),
    ]
