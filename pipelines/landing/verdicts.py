"""An accepted document, the verdict of a load on each body, and the order of the observations of an id."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

if TYPE_CHECKING:
    import datetime as dt
    from decimal import Decimal

    from pipelines.landing.index import Seen


EMPTY = b"{}"


def digest(document: bytes) -> bytes:
    """Return the SHA-256 of a canonical document, by which it is known."""
    return hashlib.sha256(document).digest()


class ValidatedDocument(msgspec.Struct, gc=False):
    """An accepted document: canonical bytes without personal data, values to encrypt, and counts and sums."""

    id: int
    document: bytes
    sha256: bytes
    content: bytes  # a JSON object, pointer → value, for the vault
    phone: str | None
    email: str | None
    missing_fields: list[str]
    rounded_count: int
    counts: tuple[int, ...]
    sums: tuple[Decimal, ...]


Source = Literal["live", "archive"]
VERDICTS = ("accepted", "unchanged", "quarantined", "missing")  # of the service's answers
FAILED = "failed"  # no usable answer


class Refusal(NamedTuple):
    """A rejected body: its id, the reason, and where in it; never a value."""

    id: int | None
    reason: str
    pointer: str | None


class Cost(NamedTuple):
    """The cost of fetching an id: milliseconds of the last attempt, bytes of its body, requests sent in all.

    `earlier` has every attempt but the last: HTTP status, code, milliseconds, bytes.
    """

    ms: int
    bytes: int
    tries: int
    earlier: tuple[tuple[int | None, str, int, int], ...] = ()


class LoadSummary(NamedTuple):
    """The outcome of one load; the counts of verdicts add up to the bodies received.

    `returned` of the accepted ones are documents that came before, and another one since.
    """

    load_id: str
    kind: str
    counts: dict[str, int]
    quarantined: list[Refusal]
    returned: int = 0


class Waiting(msgspec.Struct, gc=False):
    """A body, or a missing one, without a verdict yet."""

    seq: int
    body: bytes | None  # None: the service has no such document
    asked: int | None
    observed_at: dt.datetime | None
    source: str
    http_status: int | None
    failure: str | None = None
    ready: ValidatedDocument | None = None  # validated already: a document that is landed again
    size: int = 0  # of the body, in bytes
    cost: Cost | None = None  # None: it was not fetched


def place(known: dict[int, list[Seen]], id_: int, own: Seen) -> tuple[str, bool]:
    """Put an observation among those of its id, each document once, the latest last.

    Return its verdict, and whether its document was never stored before.
    """
    seen = known.get(id_)
    if seen is None:
        known[id_] = [own]
        return "accepted", True
    verdict = "unchanged" if seen[-1].sha256 == own.sha256 else "accepted"
    before = next((each for each in seen if each.sha256 == own.sha256), None)
    if before is None or before.rank < own.rank:
        if before is not None:
            seen.remove(before)
        seen.append(own)
        seen.sort(key=lambda each: each.rank)
    return verdict, before is None
