"""A day that has ended in one time zone and not in another."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.finance import closing
from pipelines.finance.released import one_day, period_or_day
from pipelines.settings import SettingsError, load_settings

if TYPE_CHECKING:
    from pathlib import Path

DAY = "2026-10-31"
IN_BERLIN = dt.datetime(2026, 11, 1, 23, tzinfo=dt.UTC)  # a day after midnight there
IN_LIMA = dt.datetime(2026, 11, 2, 5, tzinfo=dt.UTC)


@pytest.mark.slow
def test_day_ends_in_the_last_of_its_time_zones(books_of: Any, tmp_path: Path) -> None:
    """All stores can be closed once the day has ended in each zone; one store once it has in its own."""
    books = books_of(tmp_path / "books")
    zones = {1: "Europe/Berlin", 2: "America/Lima"}
    stores = [
        {"id": number, "at": 24, "document": books.store(number, timezone=zone)} for number, zone in zones.items()
    ]
    books.world.land("stores", stores)
    for number in zones:
        books.land(number, 48, created_at=f"{DAY}T20:00:00Z", store_id=number)
    books.publish()

    def not_ended(store_id: int | None, now: dt.datetime) -> list[str]:
        found = closing.check(books.settings, one_day(DAY), store_id, now).against
        return [blocker for blocker in found if blocker.startswith("day not ended")]

    (blocker,) = not_ended(None, IN_BERLIN)
    assert blocker.startswith(f"day not ended: {DAY} in America/Lima can be closed from 2026-11-02 05:00 UTC")
    assert not_ended(None, IN_LIMA) == not_ended(1, IN_BERLIN) == []
    assert len(not_ended(2, IN_BERLIN)) == 1


@pytest.mark.parametrize("text", ["0001-01-01", "9999-12-31", "0000-00-00", "0000-01", "9999-12"])
def test_a_day_that_cannot_be_is_refused(text: str) -> None:
    """As one that no calendar has, and so is such a month."""
    with pytest.raises(SettingsError, match=r"not a valid (day|period)"):
        period_or_day(load_settings(environ={}), text)
