"""Accept store-days without orders, once and with a reason: they no longer block a close."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.finance.book_blockers import days_without_orders
from pipelines.finance.released import FinanceError, released
from pipelines.ledger.decisions import NO_ORDERS

if TYPE_CHECKING:
    from pipelines.finance.periods import Period
    from pipelines.ledger import Entry
    from pipelines.ledger.decisions import User
    from pipelines.settings import Settings


def accept_no_orders(settings: Settings, period: Period, store_id: int | None, reason: str, user: User) -> Entry:
    """Record that store-days which usually have orders have none, of one store or of every such store.

    Raise FinanceError if there is none to accept.
    """
    with released(settings) as release:
        empty = days_without_orders(release, period, store_id)
        if not empty:
            raise FinanceError("no store-day of these is without orders that it usually has: nothing to accept")
        days = [{"day": day.isoformat(), "store_id": store} for day, store in empty]
        return release.ledger.append(NO_ORDERS, {"days": days, "reason": reason, **user.body})
