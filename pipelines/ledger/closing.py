"""The acts of closing, as they stand in the ledger, and what all of them together amount to.

| act | body | rows |
|---|---|---|
| closed | days: [{day, stores}], period, release, settings, rules, code, exceptions | SEALED, one an order |
| reopened | day, store_id (null: all), reason | |
| restated | settings, rules, code | RESTATED, one an order, place and part |
| posted | period | POSTED, one a restatement |

`stores` null stands for every store without a seal of its own. A day's seal is in force from `closed` until
`reopened`. Knows no warehouse: how orders are chosen and differences found is not its business.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipelines.ledger.chain import Entry

CLOSED, REOPENED, RESTATED_ACT, POSTED_ACT = "closed", "reopened", "restated", "posted"
PRICES = ("subtotal_price", "delivery_price", "tip", "discount", "loyalty_discount", "total_price")
_MONEY, _SUM = pa.decimal128(18, 4), pa.decimal128(38, 4)
_INSTANT = pa.timestamp("us", tz="UTC")
SEALED = pa.schema(
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
        *((part, _MONEY) for part in PRICES),
        ("line_amount", _SUM),
        # what it was valued by: until the day is reopened these rules hold for it
        ("line_rule", pa.string()),
        ("line_open_parts", pa.list_(pa.int64())),
        ("subtotal_basis", pa.string()),
        ("total_rule", pa.string()),
        ("total_basis", pa.string()),
    ]
)
RESTATED = pa.schema(
    [
        ("number", pa.int64()),
        ("close_entry_no", pa.int64()),
        ("order_id", pa.int64()),
        ("store_id", pa.int64()),
        ("business_date", pa.date32()),
        ("sale_class", pa.string()),
        ("part", pa.string()),
        ("currency", pa.string()),
        ("sealed", _SUM),
        ("prior_restated_amount", _SUM),
        ("now", _SUM),
        ("difference", _SUM),
        ("cause", pa.string()),
        ("detected_at", _INSTANT),
        ("current_business_date", pa.date32()),
        ("current_sale_class", pa.string()),
        ("now_timezone", pa.string()),
        ("now_payload_sha256", pa.string()),
        ("now_fetched_at", _INSTANT),
    ]
)
POSTED = pa.schema([("number", pa.int64())])


@dataclass(frozen=True)
class DaySeal:
    """Which seal counts for a day: of one store, or of every store that has no row of its own; None: reopened."""

    day: dt.date
    store_id: int | None
    close_entry_no: int | None

    @property
    def is_every_store(self) -> bool:
        """Whether it is about every store that has no row of its own."""
        return self.store_id is None


@dataclass
class _Day:
    every: int | None = None
    own: dict[int, int | None] = field(default_factory=dict)


class Seals:
    """What the acts of a ledger amount to: which seal is in force for which day and store."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._days: dict[dt.date, _Day] = {}
        self.closed: dict[int, Entry] = {}
        for entry in entries:
            if entry.act == CLOSED:
                self.closed[entry.no] = entry
                for each in entry.body["days"]:
                    self._close(entry.no, dt.date.fromisoformat(each["day"]), each["stores"])
            elif entry.act == REOPENED:
                self._reopen(dt.date.fromisoformat(entry.body["day"]), entry.body["store_id"])

    def of(self, day: dt.date, store_id: int | None) -> int | None:
        """Return the number of the seal in force for a store's day; store None: for stores without one of their own."""
        found = self._days.get(day, _Day())
        return found.every if store_id is None else found.own.get(store_id, found.every)

    def unclosed_stores(self, day: dt.date, store_id: int | None) -> list[int] | None:
        """Return the stores that closing this day would seal: None for every one without a seal, [] for none."""
        if store_id is not None:
            return [] if self.of(day, store_id) else [store_id]
        found = self._days.get(day, _Day())
        return None if found.every is None else sorted(store for store, no in found.own.items() if no is None)

    def separately_closed_stores(self, day: dt.date) -> list[int]:
        """Return the stores whose day has a seal of their own, which closing the day leaves as it is."""
        return sorted(store for store, no in self._days.get(day, _Day()).own.items() if no is not None)

    def is_any(self, day: dt.date, store_id: int | None) -> bool:
        """Whether a seal in force says anything of that day: of that store where one is given."""
        if store_id is not None:
            return self.of(day, store_id) is not None
        found = self._days.get(day, _Day())
        return found.every is not None or any(no is not None for no in found.own.values())

    def rows(self) -> Iterator[DaySeal]:
        """Yield what is in force, by day: own seals of stores, then the one of every other store."""
        for day, found in sorted(self._days.items()):
            for store_id, no in sorted(found.own.items()):
                yield DaySeal(day, store_id, no)
            if found.every is not None:
                yield DaySeal(day, None, found.every)

    def _close(self, no: int, day: dt.date, stores: list[int] | None) -> None:
        found = self._days.setdefault(day, _Day())
        if stores is None:
            found.every = no
            found.own = {store: own for store, own in found.own.items() if own is not None}
        else:
            found.own |= dict.fromkeys(stores, no)

    def _reopen(self, day: dt.date, store_id: int | None) -> None:
        found = self._days.setdefault(day, _Day())
        if store_id is None:
            found.every, found.own = None, {}
        else:
            found.own[store_id] = None
