"""Reopen closed days. What was posted of their restatements is reversed, so that the books of all periods still add up.

A day that is closed again is closed with its current amounts: they contain what was posted before. The reversal is part
of the entry that reopens the day.
"""

from __future__ import annotations

import datetime as dt  # noqa: TC003 - a dataclass's annotation
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipelines.finance.periods import earliest_open, is_closed, period_of
from pipelines.finance.released import FinanceError, stores_by_day
from pipelines.finance.restating import recorded, total_prices
from pipelines.ledger import Closes
from pipelines.ledger.closed_days import REOPENED, REVERSALS
from pipelines.ledger.decisions import User, current_user
from pipelines.ledger.signed_head import signing_ledger

if TYPE_CHECKING:
    from pipelines.ledger import Entry
    from pipelines.settings import Settings


@dataclass(frozen=True)
class Reversal:
    """What was posted to a period, and the period it is reversed in: how many rows, and -total_price by currency."""

    posted_period: str
    period: str
    restatement_count: int
    amounts: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Reopened:
    """A reopened day: its entry, and what was reversed."""

    entry: Entry
    reversals: tuple[Reversal, ...] = ()


def reopen(settings: Settings, day: dt.date, store_id: int | None, reason: str, user: User | None = None) -> Reopened:
    """Reopen a day, of all stores or of one, and reverse its posted restatements.

    Each is reversed in the period that holds its posting if that is open, else in the earliest open one after it. Raise
    FinanceError if the day is not closed, or if there is something to reverse and no open period.
    """
    ledger = signing_ledger(settings)
    closes = Closes(ledger.entries())
    name = f"{day}" if store_id is None else f"{day} of store {store_id}"
    if not closes.is_any(day, store_id):
        raise FinanceError(f"{name} is not closed: nothing to reopen")
    body: dict[str, Any] = {"day": day.isoformat(), "store_id": store_id, "reason": reason}
    body |= (user or current_user()).body
    posted: dict[str, list[dict[str, Any]]] = {}
    for row in recorded(settings, everything=True):
        is_of_day = row["business_date"] == day and store_id in {None, row["store_id"]}
        if is_of_day and row["posted_period"] is not None and row["reversed_period"] is None:
            posted.setdefault(row["posted_period"], []).append(row)
    if not posted:
        return Reopened(ledger.append(REOPENED, body))
    closes.reopen(day, store_id)  # its own period is open from now on
    stores = stores_by_day(settings)
    reversals, numbers = [], []
    for posted_period, rows in sorted(posted.items()):
        held = period_of(settings, posted_period)
        period = earliest_open(settings, closes, held.first_day, stores) if is_closed(closes, held, stores) else held
        if period is None:
            raise FinanceError(
                f"{name} has {len(rows):,} restatements posted to {posted_period}, and no period from then on is open "
                "to reverse them in: add the next period to [closing] periods_file"
            )
        amounts = tuple((currency, -amount) for currency, amount in total_prices(rows))
        reversals.append(Reversal(posted_period, period.name or "", len(rows), amounts))
        numbers += [{"restatement_no": row["restatement_no"], "period": period.name} for row in rows]
    body["restatement_count"] = len(numbers)
    entry = ledger.append(REOPENED, body, pa.Table.from_pylist(numbers, schema=REVERSALS))
    return Reopened(entry, tuple(reversals))
