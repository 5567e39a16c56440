"""Entries about breaks, and about store-days without orders: what people decided of them.

| act | body |
|---|---|
| break_accepted | breaks: [{order_id, content, currency, residuals, …}], reason, uid, as |
| break_assigned | order_ids, assignee, uid, as |
| break_commented | order_ids, comment, uid, as |
| no_orders_accepted | days: [{day, store_id}], reason, uid, as |

`content` is a hash of the amounts of a break: it is accepted as long as it has that content.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipelines.ledger.chain import Entry

ACCEPTED, ASSIGNED, COMMENTED = "break_accepted", "break_assigned", "break_commented"
NO_ORDERS = "no_orders_accepted"


@dataclass
class Decisions:
    """What was decided of one order's break: the last acceptance and assignment, and every comment."""

    accepted: Entry | None = None
    content: str | None = None
    assignee: str | None = None
    comments: list[Entry] = field(default_factory=list)


def decisions(entries: Iterable[Entry]) -> dict[int, Decisions]:
    """Return order id → decisions, from all entries of a ledger."""
    found: dict[int, Decisions] = {}
    for entry in entries:
        if entry.act == ACCEPTED:
            for accepted in entry.body["breaks"]:
                order = found.setdefault(accepted["order_id"], Decisions())
                order.accepted, order.content = entry, accepted["content"]
        elif entry.act in {ASSIGNED, COMMENTED}:
            for order_id in entry.body["order_ids"]:
                order = found.setdefault(order_id, Decisions())
                if entry.act == ASSIGNED:
                    order.assignee = entry.body["assignee"]
                else:
                    order.comments.append(entry)
    return found


def accepted_without_orders(entries: Iterable[Entry]) -> set[tuple[dt.date, int]]:
    """Return the store-days that were accepted without orders."""
    return {
        (dt.date.fromisoformat(accepted["day"]), accepted["store_id"])
        for entry in entries
        if entry.act == NO_ORDERS
        for accepted in entry.body["days"]
    }
