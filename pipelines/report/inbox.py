"""Format the state of the inbox: undecodable deliveries, and dead letters that are due again.

Knows no bodies: a delivery is its number, its time and the reason why it names no id.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipelines.inbox.deliveries import StoredDelivery
    from pipelines.inbox.entries import Entry


def undecodable_list(deliveries: Iterable[StoredDelivery]) -> str:
    """Return a line for each undecodable delivery, and what to do about them."""
    lines = [
        f"{delivery.seq}  {delivery.received_at:%Y-%m-%d %H:%M:%S}Z  {delivery.undecodable}; "
        f"topic {delivery.topic or 'unknown'}, delivery {delivery.delivery_id or 'without an id'}, "
        f"{delivery.size:,} bytes, " + ("body kept in the vault" if delivery.vault_ref else "body not kept")
        for delivery in deliveries
    ]
    if not lines:
        return "There are no undecodable deliveries."
    what = "undecodable delivery" if len(lines) == 1 else "undecodable deliveries"
    lines.append(
        f"{len(lines):,} {what}. Correct [webhooks] topic_locations and id_locations, "
        "then run `ordermart webhooks reprocess`."
    )
    return "\n".join(lines)


def reprocessed(decoded: int, undecoded: int) -> str:
    """Return the sentence about reprocessed deliveries."""
    if not decoded and not undecoded:
        return "There are no undecodable deliveries to reprocess."
    return f"{decoded:,} decoded and put on the work list; {undecoded:,} still undecodable."


def retried(letters: list[Entry]) -> str:
    """Return lines on dead letters that are due again: how many of each kind and reason."""
    if not letters:
        return "There are no dead letters."
    ids = defaultdict(list)
    for letter in letters:
        ids[letter.kind, letter.reason or "no reason recorded"].append(letter.id)
    lines = [
        f"  {kind}: {len(failed):,}, such as {failed[0]}, failed: {reason}"
        for (kind, reason), failed in sorted(ids.items())
    ]
    what = "dead letter is" if len(letters) == 1 else "dead letters are"
    lines.append(f"{len(letters):,} {what} due again: the next `ordermart run` requests them.")
    return "\n".join(lines)
