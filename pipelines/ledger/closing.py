"""Entries about closed days, and which closes are active.

| act | body | rows |
|---|---|---|
| closed | days: [{day, stores, period}], period, order_count, indeterminate, day_hashes, exceptions, release, \
settings, rules, code, uid, as; prepared_entry_no where somebody else prepared it | CLOSED_ORDERS |
| prepared | as closed, with a fingerprint of its orders; a close that another user approves | |
| reopened | day, store_id (null: all), reason, uid, as; of reversals: restatement_count | REVERSALS |
| restated | release (null), settings, rules, code | RESTATEMENTS |
| posted | period, restatement_count | POSTINGS |

`stores` null means every store without a close of its own. A close is active from `closed` until `reopened`. The period
of a closed day is the one whose books have it; older entries name one for all days, or mean each day's month. Posted
restatements of a day that is reopened are reversed in the same entry; older ones name one period for all rows, in their
body.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from pipelines.landing.charges import PRICES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipelines.ledger.chain import Entry

CLOSED, REOPENED, RESTATED, POSTED = "closed", "reopened", "restated", "posted"
PREPARED = "prepared"
_MONEY, _SUM = pa.decimal128(18, 4), pa.decimal128(38, 4)
_INSTANT = pa.timestamp("us", tz="UTC")
CLOSED_ORDERS = pa.schema(
    [
        ("order_id", pa.int64()),
        ("store_id", pa.int64()),
        ("business_date", pa.date32()),
        ("sale_class", pa.string()),
        ("status", pa.string()),
        ("currency", pa.string()),
        ("timezone", pa.string()),
        ("payload_sha256", pa.string()),
        ("fetched_at", _INSTANT),
        ("last_checked_at", _INSTANT),
        *((price, _MONEY) for price in PRICES),
        ("line_amount", _SUM),
        # what it was valued by: until the day is reopened these rules hold for it
        ("line_rule", pa.string()),
        ("line_open_parts", pa.list_(pa.int64())),
        ("subtotal_basis", pa.string()),
        ("total_rule", pa.string()),
        ("total_basis", pa.string()),
    ]
)
RESTATEMENTS = pa.schema(
    [
        ("restatement_no", pa.int64()),
        ("close_entry_no", pa.int64()),
        ("order_id", pa.int64()),
        ("store_id", pa.int64()),
        ("business_date", pa.date32()),
        ("sale_class", pa.string()),
        ("measure", pa.string()),
        ("currency", pa.string()),
        ("closed_amount", _SUM),
        ("prior_restated_amount", _SUM),
        ("current_amount", _SUM),
        ("restatement_amount", _SUM),
        ("cause", pa.string()),
        ("detected_at", _INSTANT),
        ("current_business_date", pa.date32()),
        ("current_sale_class", pa.string()),
        ("current_timezone", pa.string()),
        ("current_payload_sha256", pa.string()),
        ("current_fetched_at", _INSTANT),
        ("current_store_id", pa.int64()),
    ]
)
POSTINGS = pa.schema([("restatement_no", pa.int64())])
REVERSALS = pa.schema([("restatement_no", pa.int64()), ("period", pa.string())])


@dataclass(frozen=True)
class DayClose:
    """The active close of a day, for one store or for every store without a row of its own; None: reopened.

    `period` is the one whose books have the day.
    """

    day: dt.date
    store_id: int | None
    close_entry_no: int | None
    period: str | None

    @property
    def is_every_store(self) -> bool:
        """Whether it covers every store without a row of its own."""
        return self.store_id is None


@dataclass
class _Day:
    every: int | None = None
    own: dict[int, int | None] = field(default_factory=dict)


class Closes:
    """Which close is active for which day and store, from all entries of a ledger."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._days: dict[dt.date, _Day] = {}
        self.closed: dict[int, Entry] = {}
        self._periods: dict[tuple[int | None, dt.date], str] = {}
        for entry in entries:
            if entry.act == CLOSED:
                self.closed[entry.no] = entry
                for closed in entry.body["days"]:
                    day = dt.date.fromisoformat(closed["day"])
                    self._close(entry.no, day, closed["stores"])
                    period = closed.get("period") or entry.body.get("period") or f"{day:%Y-%m}"
                    self._periods[entry.no, day] = period
            elif entry.act == REOPENED:
                self.reopen(dt.date.fromisoformat(entry.body["day"]), entry.body["store_id"])

    def of(self, day: dt.date, store_id: int | None) -> int | None:
        """Return the entry number of a store-day's active close; store None: of stores without a close of their own."""
        found = self._days.get(day, _Day())
        return found.every if store_id is None else found.own.get(store_id, found.every)

    def unclosed_stores(self, day: dt.date, store_id: int | None) -> list[int] | None:
        """Return the stores that closing this day would close: None for every one without a close, [] for none."""
        if store_id is not None:
            return [] if self.of(day, store_id) else [store_id]
        found = self._days.get(day, _Day())
        return None if found.every is None else sorted(store for store, no in found.own.items() if no is None)

    def is_closed(self, day: dt.date) -> bool:
        """Whether the day is closed for every store."""
        return self.unclosed_stores(day, None) == []

    def separately_closed_stores(self, day: dt.date) -> list[int]:
        """Return the stores with an active close of their own, which closing the day leaves as it is."""
        return sorted(store for store, no in self._days.get(day, _Day()).own.items() if no is not None)

    def is_any(self, day: dt.date, store_id: int | None) -> bool:
        """Whether any close of that day is active: of that store if one is given."""
        if store_id is not None:
            return self.of(day, store_id) is not None
        found = self._days.get(day, _Day())
        return found.every is not None or any(no is not None for no in found.own.values())

    def rows(self) -> Iterator[DayClose]:
        """Yield the closes by day: those of single stores, then the one of every other store."""
        for day, found in sorted(self._days.items()):
            for store_id, no in sorted(found.own.items()):
                yield DayClose(day, store_id, no, self._periods.get((no, day)))
            if found.every is not None:
                yield DayClose(day, None, found.every, self._periods[found.every, day])

    def reopen(self, day: dt.date, store_id: int | None) -> None:
        """Take the close of a day, or of a store's day, for reopened from here on."""
        found = self._days.setdefault(day, _Day())
        if store_id is None:
            found.every, found.own = None, {}
        else:
            found.own[store_id] = None

    def _close(self, no: int, day: dt.date, stores: list[int] | None) -> None:
        found = self._days.setdefault(day, _Day())
        if stores is None:
            found.every = no
            found.own = {store: own for store, own in found.own.items() if own is not None}
        else:
            found.own |= dict.fromkeys(stores, no)
