"""Which orders of a release a report is about: business days and a store."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from pipelines.settings import SettingsError


@dataclass(frozen=True)
class Selection:
    """Orders of business days from `since` to `until`, inclusive, and of one store; None means no limit."""

    since: dt.date | None = None
    until: dt.date | None = None
    store_id: int | None = None

    @classmethod
    def between(cls, since: str, until: str, store_id: int | None = None) -> Selection:
        """Return the selection of days written as 2026-10-31, '' for no limit; raise SettingsError for another text."""
        first, last = _day("--from", since), _day("--to", until)
        if first and last and first > last:
            raise SettingsError(f"--from {first} is after --to {last}: exchange them")
        return cls(first, last, store_id)

    def where(self, day: str = "business_date") -> str:
        """Return the condition on `rows`, whose business date is column `day`; orders without a day match no limit."""
        parts = []
        if self.since is not None:
            parts.append(f"rows.{day} >= date '{self.since.isoformat()}'")
        if self.until is not None:
            parts.append(f"rows.{day} <= date '{self.until.isoformat()}'")
        if self.store_id is not None:
            parts.append(f"rows.store_id = {self.store_id:d}")
        return " and ".join(parts) or "true"

    def includes(self, day: dt.date, store_id: int) -> bool:
        """Return whether a store's day is selected."""
        return (
            (self.since is None or day >= self.since)
            and (self.until is None or day <= self.until)
            and self.store_id in {None, store_id}
        )

    @property
    def values(self) -> dict[str, Any]:
        """The parameters of the selects in `sql/finance/listing_*.sql`."""
        return {"since": self.since, "until": self.until, "store_id": self.store_id}

    @property
    def description(self) -> str:
        """The selection in words."""
        since, until = self.since, self.until
        days = (
            f"business days {since} to {until}"
            if since and until
            else f"business days from {since}"
            if since
            else f"business days to {until}"
            if until
            else "all business days"
        )
        return f"{days}, " + ("all stores" if self.store_id is None else f"store {self.store_id}")


def _day(option: str, text: str) -> dt.date | None:
    if not text:
        return None
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise SettingsError(f"{option}: {text!r} is not a valid day; use 2026-10-31") from None
