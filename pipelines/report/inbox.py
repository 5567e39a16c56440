"""Say in a few lines what stands in the inbox: deliveries that nobody could read, dead letters taken up again.

Knows no bodies: a delivery is its number, its time and the reason why it names nothing.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipelines.inbox.deliveries import StoredDelivery
    from pipelines.inbox.entries import Entry


def unread(deliveries: Iterable[StoredDelivery]) -> str:
    """Return a line for each delivery that nobody could read, and what to do about them."""
    lines = [
        f"{each.seq}  {each.received_at:%Y-%m-%d %H:%M:%S}Z  {each.undecodable}; topic {each.topic or 'unknown'}, "
        f"delivery {each.delivery_id or 'without an id'}, {each.size:,} bytes, "
        + ("body kept in the vault" if each.sealed_ref else "body not kept")
        for each in deliveries
    ]
    if not lines:
        return "Every delivery could be read."
    what = "delivery" if len(lines) == 1 else "deliveries"
    lines.append(
        f"{len(lines):,} {what} could not be read. Put [webhooks] topic_locations and id_locations right, "
        "then `ordermart webhooks reprocess`."
    )
    return "\n".join(lines)


def read_again(read: int, still_unread: int) -> str:
    """Return the sentence about deliveries that were read again."""
    if not read and not still_unread:
        return "Every delivery could be read: there is nothing to read again."
    return f"{read:,} can be read now and are on the work list; {still_unread:,} still cannot."


def taken_up(letters: list[Entry]) -> str:
    """Return the lines about dead letters that are due again: how many of each kind, and why they had failed."""
    return "\n".join(_taken_up(letters))


def _taken_up(letters: list[Entry]) -> Iterator[str]:
    if not letters:
        yield "There are no dead letters."
        return
    reasons = Counter((letter.kind, letter.reason or "no reason was noted") for letter in letters)
    first = {(letter.kind, letter.reason or "no reason was noted"): letter.id for letter in reversed(letters)}
    for (kind, reason), number in sorted(reasons.items()):
        yield f"  {kind}: {number:,} such as {first[kind, reason]}, had failed: {reason}"
    what = "dead letter is" if len(letters) == 1 else "dead letters are"
    yield f"{len(letters):,} {what} back on the work list: the next `ordermart run` asks for them."
