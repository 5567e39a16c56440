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

The closed orders of a day are hashed so that Python's standard library can compute the same from closes.csv, as
`report/verify_audit_pack.py` does. A row is the texts of its columns, null as "", amounts with four decimals, as a JSON
array, and of a charge that a later release added its name and amount, if the order states it, so that what was hashed
before has the same hash. The hash of a day is the SHA-256 of its rows by order id, each followed by a line feed.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipelines.landing.charges import OPTIONAL, PRICES, REQUIRED_PRICES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipelines.ledger.chain import LedgerEntry


CLOSED, REOPENED, RESTATED, POSTED = "closed", "reopened", "restated", "posted"
PREPARED = "prepared"
_MONEY, _SUM = pa.decimal128(18, 4), pa.decimal128(38, 4)
_INSTANT = pa.timestamp("us", tz="UTC")


def _schema(*columns: tuple[str, pa.DataType]) -> pa.Schema:
    """Return a schema from names and their type, in order."""
    return pa.schema([(name, kind) for names, kind in columns for name in names.split()])


# The parts of a total by the rule in force, with signs; with the residual they are the total stated. Null without a
# rule. And the content by which people accept the order's break.
_TOTAL = (
    ("total_parts", pa.list_(pa.string())),
    ("total_part_amounts", pa.list_(_SUM)),
    ("total_residual", _SUM),
    ("break_content", pa.string()),
)
CLOSED_ORDERS = _schema(
    ("order_id store_id", pa.int64()),
    ("business_date", pa.date32()),
    ("sale_class status currency timezone payload_sha256", pa.string()),
    ("fetched_at last_checked_at", _INSTANT),
    (" ".join(PRICES), _MONEY),
    ("line_amount", _SUM),
    # what it was valued by: until the day is reopened these rules hold for it
    ("line_rule", pa.string()),
    ("line_open_parts", pa.list_(pa.int64())),
    ("subtotal_basis total_rule total_basis", pa.string()),
    # for journals; rows of older closes lack these
    ("platform", pa.string()),
    *_TOTAL,
)
RESTATEMENTS = _schema(
    ("restatement_no close_entry_no order_id store_id", pa.int64()),
    ("business_date", pa.date32()),
    ("sale_class measure currency", pa.string()),
    ("closed_amount prior_restated_amount current_amount restatement_amount", _SUM),
    ("cause", pa.string()),
    ("detected_at", _INSTANT),
    ("current_business_date", pa.date32()),
    ("current_sale_class current_timezone current_payload_sha256", pa.string()),
    ("current_fetched_at", _INSTANT),
    ("current_store_id", pa.int64()),
    ("platform total_rule", pa.string()),
    *_TOTAL,  # of the order as it is now, here: no parts once it has left
)
POSTINGS = _schema(("restatement_no", pa.int64()))
REVERSALS = _schema(("restatement_no", pa.int64()), ("period", pa.string()))
AMOUNTS = (*REQUIRED_PRICES, "line_amount")
LATER = tuple(charge.name for charge in OPTIONAL)
HASHED = ("order_id", "store_id", "business_date", "sale_class", "status", "currency", "payload_sha256", *AMOUNTS)


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

    def __init__(self, entries: Iterable[LedgerEntry]) -> None:
        self._days: dict[dt.date, _Day] = {}
        self.closed: dict[int, LedgerEntry] = {}
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


def day_hashes(rows: pa.Table) -> list[dict[str, Any]]:
    """Return of each day among closed orders: day, order_count, the amounts by currency, and rows_sha256."""
    days: dict[dt.date, list[dict[str, Any]]] = {}
    for row in rows.select([*HASHED, *LATER]).to_pylist():
        days.setdefault(row["business_date"], []).append(row)
    return [
        {
            "day": day.isoformat(),
            "order_count": len(found),
            "amounts": _amounts(found),
            "rows_sha256": _hash(found),
        }
        for day, found in sorted(days.items())
    ]


def _hash(rows: Iterable[dict[str, Any]]) -> str:
    digest = hashlib.sha256()
    for row in sorted(rows, key=lambda row: int(row["order_id"])):
        texts = [_text(row[name]) for name in HASHED]
        texts += [f"{name} {_text(row[name])}" for name in LATER if row[name] is not None]
        digest.update(json.dumps(texts, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    return digest.hexdigest()


def _amounts(rows: Iterable[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """Return currency → amount → exact sum of known amounts, as text."""
    sums: dict[str, dict[str, Decimal]] = {}
    for row in rows:
        of_currency = sums.setdefault(row["currency"] or "", {})
        for name in (*AMOUNTS, *LATER):
            if row[name] is not None:
                of_currency[name] = of_currency.get(name, Decimal(0)) + row[name]
    return {currency: {name: _text(amount) for name, amount in each.items()} for currency, each in sums.items()}


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, Decimal) else str(value)
