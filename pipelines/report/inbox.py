"""Format the state of the inbox: undecodable deliveries, and retried entries of the dead-letter queue.

Knows no bodies: a delivery is its number, its time and the reason why it names no id.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from pipelines.inbox.store import inbox_path
from pipelines.inbox.worklist import WorkList

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

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
    """Return lines on retried entries of the dead-letter queue: how many of each kind and reason."""
    if not letters:
        return "The dead-letter queue is empty."
    ids = defaultdict(list)
    for letter in letters:
        ids[letter.kind, letter.reason or "no reason recorded"].append(letter.id)
    lines = [
        f"  {kind}: {len(failed):,}, such as {failed[0]}, failed: {reason}"
        for (kind, reason), failed in sorted(ids.items())
    ]
    what = "id is" if len(letters) == 1 else "ids are"
    lines.append(f"{len(letters):,} {what} due again: the next `ordermart run` requests what was in the queue.")
    return "\n".join(lines)


def waiting(data_dir: Path) -> Iterator[str]:
    """Yield lines on ids that wait after a rejection or failure, and on the dead-letter queue, if there are any."""
    path = inbox_path(data_dir)
    if not path.exists():
        return
    with WorkList(path) as work:
        rejected = work.rejected_counts()
        dead = {kind: states["dead"] for kind, states in work.counts().items() if "dead" in states}
    if rejected:
        yield f"  waiting after a rejection or failure: {_listed(rejected)}; they are requested again on later days"
    if dead:
        yield f"  in the dead-letter queue: {_listed(dead)}; `ordermart retry` requests them again"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} {number:,}" for kind, number in counts.items())
