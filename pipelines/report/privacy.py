"""Say what an erasure did and where copies remain; show revealed and exported personal data as JSON.

Control characters in the data are escaped, so that they never reach a terminal.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pipelines.report.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pipelines.privacy import Erasure
    from pipelines.vault.rotation import Rotated


def erased(done: Erasure, backups: Sequence[Path]) -> Iterator[str]:
    """Yield the receipt of an erasure."""
    entry, destroyed = done.entry, done.destroyed
    if entry is not None:
        orders = len(entry.body["order_ids"])
        customers = counted(len(entry.body["customer_sha256"]), "customer", "customers")
        yield f"Erased {customers} with {counted(orders, 'order', 'orders')}."
        yield f"Ledger entry {entry.no} of {entry.at}, hash {entry.sha256}"
    yield (
        f"Destroyed: the keys and lookup hashes, {destroyed.versions:,} encrypted versions, "
        f"{destroyed.quarantined:,} quarantined bodies. Raw files rewritten: {done.rewritten:,}."
    )
    if done.build_error:
        yield f"NOT PUBLISHED  the tables could not be rebuilt ({done.build_error}): correct that, then erase again."
    for release in done.removed_releases:
        yield f"Removed release {release.name}, which had the erased orders."
    for release in done.kept_releases:
        yield f"STILL HELD  release {release} has the erased orders."
    for backup in backups:
        yield f"STILL HELD  backup {backup} has the encrypted data: remove it."
    yield "Not covered: copies of the data folder or of releases that were made by other means, and new orders."


def rotated(done: Rotated, file: Path) -> Iterator[str]:
    """Yield what a rotation changed, and what to set now."""
    if done.is_new:
        yield f"Wrapped the keys of {done.customers:,} customers again, and rekeyed {done.versions:,} versions."
    else:
        yield "The vault has these keys already."
    yield f"Set [vault] key_file to {file}, or ORDERMART_VAULT__… to the values in it; restart the webhook receiver."
    yield "Keep a copy of the new keys elsewhere. Backups taken before need the old ones: keep those as long."


def as_json(value: Any) -> str:
    """Return plain values as indented JSON in ASCII; exact decimals are texts."""
    return json.dumps(value, indent=2, sort_keys=True, default=_text)


def _text(value: Any) -> str:
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(type(value).__name__)
