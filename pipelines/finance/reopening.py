"""Reopen closed days. What was posted of their restatements is reversed, so that the books of all periods still add up.

A day that is closed again is closed with its current amounts: they contain what was posted before. The reversal is part
of the entry that reopens the day.
"""

from __future__ import annotations

import datetime as dt  # noqa: TC003 - a dataclass's annotation
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipelines.finance.periods import earliest_open
from pipelines.finance.released import FinanceError, stores_by_day
from pipelines.finance.restating import recorded, total_prices
from pipelines.ledger import Closes
from pipelines.ledger.closing import POSTINGS, REOPENED
from pipelines.ledger.signed_head import signing_ledger
from pipelines.ledger.users import User, current_user

if TYPE_CHECKING:
    from pipelines.ledger import Entry
    from pipelines.settings import Settings


@dataclass(frozen=True)
class Reopened:
    """A reopened day: its entry, and what was reversed: how many restatements, and -total_price by currency."""

    entry: Entry
    reversal_count: int
    amounts: tuple[tuple[str, Any], ...]


def reopen(settings: Settings, day: dt.date, store_id: int | None, reason: str, user: User | None = None) -> Reopened:
    """Reopen a day, of all stores or of one, and reverse its posted restatements in the earliest open period.

    Raise FinanceError if it is not closed, or if there is something to reverse and no open period.
    """
    ledger = signing_ledger(settings)
    closes = Closes(ledger.entries())
    name = f"{day}" if store_id is None else f"{day} of store {store_id}"
    if not closes.is_any(day, store_id):
        raise FinanceError(f"{name} is not closed: nothing to reopen")
    body: dict[str, Any] = {"day": day.isoformat(), "store_id": store_id, "reason": reason}
    body |= (user or current_user()).body
    posted = [
        row
        for row in recorded(settings, everything=True)
        if row["business_date"] == day
        and store_id in {None, row["store_id"]}
        and row["posted_period"] is not None
        and row["reversed_period"] is None
    ]
    if not posted:
        return Reopened(ledger.append(REOPENED, body), 0, ())
    period = earliest_open(settings, closes, day, stores_by_day(settings))
    if period is None:
        raise FinanceError(
            f"{name} has {len(posted):,} posted restatements, and no period from then on is open to reverse them in: "
            "add the next period to [closing] periods_file"
        )
    numbers = pa.table({"restatement_no": [row["restatement_no"] for row in posted]}, schema=POSTINGS)
    body |= {"period": period.name, "restatement_count": len(posted)}
    entry = ledger.append(REOPENED, body, numbers)
    return Reopened(entry, len(posted), tuple((currency, -amount) for currency, amount in total_prices(posted)))
