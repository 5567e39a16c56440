"""Replay the books from the files of a ledger: plain Python and decimals, without any code of the pipeline.

A closed order adds its amounts to its day; a restatement is unposted until an entry posts it to a period, and
reversed by the entry that reopens its day.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

PRICES = ("subtotal_price", "delivery_price", "tip", "discount", "loyalty_discount", "total_price", "line_amount")
Row = dict[str, Any]
Amounts = dict[tuple[Any, ...], list[Decimal]]


@dataclass
class Replayed:
    """`periods`: (period, store, class, currency, measure) → closed, posted, reversed.

    `days`: (day, store, class, currency, measure) → closed, posted, unposted, of closed store-days.
    """

    periods: Amounts = field(default_factory=lambda: defaultdict(lambda: [Decimal(0)] * 3))
    days: Amounts = field(default_factory=lambda: defaultdict(lambda: [Decimal(0)] * 3))
    closes: dict[str, dict[int | None, int | None]] = field(default_factory=lambda: defaultdict(dict))

    def close_of(self, day: str, store_id: int | None) -> int | None:
        """Return the entry that closed a store's day; None if it is open."""
        of_day = self.closes[day]
        return of_day[store_id] if store_id in of_day else of_day.get(None)


def measures(row: Row) -> Iterator[tuple[str, Decimal]]:
    """Yield what an order adds: one order, and each amount that it states."""
    yield "order_count", Decimal(1)
    for name in PRICES:
        if row[name] is not None:
            yield name, row[name]


def replay(folder: Path) -> Replayed:
    """Return the books that the files of a ledger's folder make."""
    done = Replayed()
    closed: list[tuple[int, str, Row]] = []
    restated: dict[int, Row] = {}
    for line in _lines(folder / "ledger.jsonl"):
        entry = json.loads(line)
        body = entry["body"]
        rows = pq.read_table(folder / entry["file"]).to_pylist() if entry["file"] else []
        match entry["act"]:
            case "closed":
                periods = {each["day"]: each["period"] for each in body["days"]}
                closed += [(entry["no"], periods[str(row["business_date"])], row) for row in rows]
                for each in body["days"]:
                    _close(done.closes[each["day"]], each["stores"], entry["no"])
            case "restated":
                restated |= {row["restatement_no"]: row | {"posted": None} for row in rows}
            case "posted":
                for row in rows:
                    _post(done, restated[row["restatement_no"]], body["period"])
            case "reopened":
                for row in rows:
                    _reverse(done, restated[row["restatement_no"]], row["period"])
                _reopen(done.closes[body["day"]], body["store_id"])
    _add_up(done, closed, restated.values())
    return done


def _add_up(done: Replayed, closed: list[tuple[int, str, Row]], restated: Iterable[Row]) -> None:
    """Add closed orders to their periods and days, and restatements to days, under the active closes."""
    for no, period, row in closed:
        if done.close_of(str(row["business_date"]), row["store_id"]) == no:
            for measure, amount in measures(row):
                _add(done.periods, (period, *_place(row), measure), 0, amount)
                _add(done.days, (str(row["business_date"]), *_place(row), measure), 0, amount)
    for row in restated:
        day = str(row["business_date"])
        if done.close_of(day, row["store_id"]) == row["close_entry_no"]:
            side = 2 if row["posted"] is None else 1
            _add(done.days, (day, *_place(row), row["measure"]), side, row["restatement_amount"])


def _post(done: Replayed, row: Row, period: str) -> None:
    assert row["posted"] is None, "posted twice"
    assert done.close_of(str(row["business_date"]), row["store_id"]) == row["close_entry_no"], "of a reopened day"
    row["posted"] = period
    _add(done.periods, (period, *_place(row), row["measure"]), 1, row["restatement_amount"])


def _reverse(done: Replayed, row: Row, period: str) -> None:
    assert row["posted"] is not None, "reversed without a posting"
    assert "reversed" not in row, "reversed twice"
    row["reversed"] = period
    _add(done.periods, (period, *_place(row), row["measure"]), 2, -row["restatement_amount"])


def _lines(file: Path) -> Iterator[bytes]:
    if file.exists():
        yield from (line for line in file.read_bytes().splitlines(keepends=True) if line.endswith(b"\n"))


def _close(of_day: dict[int | None, int | None], stores: list[int] | None, no: int) -> None:
    if stores is None:
        of_day[None] = no
        for store_id in [store_id for store_id, own in of_day.items() if own is None]:
            del of_day[store_id]
    else:
        of_day |= dict.fromkeys(stores, no)


def _reopen(of_day: dict[int | None, int | None], store_id: int | None) -> None:
    if store_id is None:
        of_day.clear()
    else:
        of_day[store_id] = None


def _place(row: Row) -> tuple[Any, ...]:
    return row["store_id"], row["sale_class"], row["currency"]


def _add(amounts: Amounts, key: tuple[Any, ...], side: int, amount: Decimal) -> None:
    sums = [*amounts[key]]
    sums[side] += amount
    amounts[key] = sums
