"""Entries about personal data: who erased, revealed or exported what. None of them contains personal data.

| act | body |
|---|---|
| erased | found_by, customer_sha256: [hash of each customer's random key], order_ids, uid, as; \
copied_from: the hash of the entry that was applied again after a restore |
| revealed | order_id, reason, uid, as |
| fields_revealed | reason, field_count, uid, as |
| exported | found_by, customer_sha256, version_count, uid, as |
| no_erasures_since | backup: the name of the one that was restored, reason, uid, as |
| vault_rotated | rotated_at, customer_count, version_count, uid, as |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pipelines.ledger.chain import Entry, Ledger

ERASED, REVEALED, EXPORTED, ROTATED = "erased", "revealed", "exported", "vault_rotated"
FIELDS_REVEALED = "fields_revealed"
NO_ERASURES = "no_erasures_since"
FoundBy = Literal["order_id", "phone", "email"]


def erasures(ledger: Ledger) -> list[Entry]:
    """Return the erasures of a ledger, in order."""
    return list(ledger.entries(ERASED))


def origin(entry: Entry) -> str:
    """Return the hash of the entry that an erasure was first recorded as, in this ledger or in one that was lost."""
    return str(entry.body.get("copied_from") or entry.sha256)
