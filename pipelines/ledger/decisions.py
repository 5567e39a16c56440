"""Entries about what people decided: of breaks, of store-days without orders, of personal data; and who they are.

| act | body |
|---|---|
| break_accepted | breaks: [{key, content, account_class, currency, residuals, …}], reason, uid, as |
| break_assigned | keys, assignee, uid, as |
| break_commented | keys, comment, uid, as |
| no_orders_accepted | days: [{day, store_id}], reason, uid, as |
| erased | found_by, customer_sha256: [hash of each customer's random key], order_ids, uid, as; \
copied_from: the hash of the entry that was applied again after a restore |
| revealed | order_id, reason, uid, as |
| fields_revealed | reason, field_count, uid, as |
| exported | found_by, customer_sha256, version_count, uid, as |
| no_erasures_since | backup: the name of the one that was restored, reason, uid, as |
| head_accepted | entries, sha256: the chain that a person confirmed, whose kept head was lost, reason, uid, as |
| vault_rotated | rotated_at, customer_count, version_count, uid, as |

A break is called by a key such as `order:1`; older entries have an `order_id` or `order_ids` instead. `content` is a
hash of the amounts of a break: it is accepted as long as it has that content. `account_class`, if named, is where a
journal writes the residual off. None of them contains personal data.
"""

from __future__ import annotations

import datetime as dt
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipelines.ledger.chain import Ledger, LedgerEntry


ACCEPTED, ASSIGNED, COMMENTED = "break_accepted", "break_assigned", "break_commented"
NO_ORDERS = "no_orders_accepted"
ERASED, REVEALED, EXPORTED, ROTATED = "erased", "revealed", "exported", "vault_rotated"
FIELDS_REVEALED = "fields_revealed"
NO_ERASURES = "no_erasures_since"
HEAD_ACCEPTED = "head_accepted"
FoundBy = Literal["order_id", "phone", "email"]


@dataclass
class Decisions:
    """What was decided of one break: the last acceptance and assignment, and every comment."""

    accepted: LedgerEntry | None = None
    content: str | None = None
    account_class: str | None = None
    assignee: str | None = None
    comments: list[LedgerEntry] = field(default_factory=list)


def order_key(order_id: int | str) -> str:
    """Return the key of the break of an order's prices."""
    return f"order:{order_id}"


def break_key(record: dict[str, Any]) -> str:
    """Return the key of a break as an entry, also an older one, names it."""
    return str(record.get("key") or order_key(record["order_id"]))


def decisions(entries: Iterable[LedgerEntry]) -> dict[str, Decisions]:
    """Return key of a break → decisions, from all entries of a ledger."""
    found: dict[str, Decisions] = {}
    for entry in entries:
        if entry.act == ACCEPTED:
            for accepted in entry.body["breaks"]:
                decided = found.setdefault(break_key(accepted), Decisions())
                decided.accepted, decided.content = entry, accepted["content"]
                decided.account_class = accepted.get("account_class")
        elif entry.act in {ASSIGNED, COMMENTED}:
            for key in entry.body.get("keys") or map(order_key, entry.body["order_ids"]):
                decided = found.setdefault(key, Decisions())
                if entry.act == ASSIGNED:
                    decided.assignee = entry.body["assignee"]
                else:
                    decided.comments.append(entry)
    return found


def written_off(entries: Iterable[LedgerEntry]) -> dict[tuple[str, str], str | None]:
    """Return (key, content) → account class of every break that was ever accepted; None: accepted without one."""
    return {
        (break_key(accepted), accepted["content"]): accepted.get("account_class")
        for entry in entries
        if entry.act == ACCEPTED
        for accepted in entry.body["breaks"]
    }


def accepted_without_orders(entries: Iterable[LedgerEntry]) -> set[tuple[dt.date, int]]:
    """Return the store-days that were accepted without orders."""
    return {
        (dt.date.fromisoformat(accepted["day"]), accepted["store_id"])
        for entry in entries
        if entry.act == NO_ORDERS
        for accepted in entry.body["days"]
    }


def erasures(ledger: Ledger) -> list[LedgerEntry]:
    """Return the erasures of a ledger, in order."""
    return list(ledger.entries(ERASED))


def origin(entry: LedgerEntry) -> str:
    """Return the hash of the entry that an erasure was first recorded as, in this ledger or in one that was lost."""
    return str(entry.body.get("copied_from") or entry.sha256)


@dataclass(frozen=True)
class User:
    """The operating system's user id, and the name given with `--as`: the name proves nothing."""

    uid: int
    name: str = ""

    @property
    def body(self) -> dict[str, int | str | None]:
        """What an entry records beside the user name that the ledger writes itself."""
        return {"uid": self.uid, "as": self.name or None}


def current_user(name: str = "") -> User:
    """Return the user of the process; `name` is what they call themselves."""
    return User(os.getuid(), name.strip())
