"""Gather the rows of a batch, column by column, as the raw tables want them.

Knows nothing of how a verdict is found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipelines.landing.validated import Judged
    from pipelines.landing.verdicts import Cost, Refusal, Waiting
    from pipelines.vault import Encrypted


_FREE = (None, None, None, None)
_TRY = ("http_status", "reason", "ms", "bytes")


class DocumentRows:
    """Rows of raw/documents."""

    def __init__(self, load_id: str) -> None:
        self._load_id = load_id
        self._rows: list[tuple[Any, ...]] = []
        self._width = 0

    def add(self, judged: Judged, size: int) -> None:
        """Add a document that is not stored yet; `size` is its bytes as received."""
        self._rows.append(
            (
                judged.id,
                judged.sha256.hex(),
                judged.document,
                self._load_id,
                size,
                judged.absences,
                judged.rounded,
                b'"_unknown":' in judged.document,
                *judged.counts,
                *judged.sums,
            )
        )

    def columns(self) -> list[Any] | None:
        """Return the rows as columns; None when there are none."""
        return [list(column) for column in zip(*self._rows, strict=True)] or None


class ObservationRows:
    """Rows of raw/observations."""

    def __init__(self, kind: str, load_id: str, *, is_backfill: bool = False) -> None:
        self._kind = kind
        self._is_backfill = is_backfill
        self._load_id = load_id
        self._rows: list[tuple[Any, ...]] = []

    def good(self, item: Waiting, judged: Judged, verdict: str, sealed: Encrypted) -> None:
        """Add a document that was accepted or unchanged."""
        self._rows.append(
            (
                self._kind,
                judged.id,
                item.seq,
                item.observed_at,
                item.source,
                verdict,
                judged.sha256.hex(),
                item.http_status,
                self._load_id,
                None,
                None,
                sealed.customer_key,
                sealed.changed,
                None,
                *_took(item.cost),
                self._is_backfill,
            )
        )

    def refused(self, item: Waiting, refusal: Refusal, ref: str) -> None:
        """Add a body that was quarantined."""
        self._bad(item, refusal.id, "quarantined", refusal.reason, refusal.pointer, ref)

    def missing(self, item: Waiting) -> None:
        """Add an id that the service has no document of."""
        self._bad(item, item.asked, "missing", None, None, None)

    def failed(self, item: Waiting, refusal: Refusal) -> None:
        """Add an id that was asked for without an answer that could be judged."""
        self._bad(item, refusal.id, "failed", refusal.reason, None, None)

    def _bad(
        self, item: Waiting, id_: int | None, verdict: str, reason: str | None, pointer: str | None, ref: str | None
    ) -> None:
        row = (self._kind, id_, item.seq, item.observed_at, item.source, verdict, None, item.http_status, self._load_id)
        self._rows.append((*row, reason, pointer, None, (), ref, *_took(item.cost), self._is_backfill))

    def columns(self) -> list[Any] | None:
        """Return the rows as columns; None when there are none."""
        return [list(column) for column in zip(*self._rows, strict=True)] or None


def _took(cost: Cost | None) -> tuple[Any, ...]:
    if cost is None:
        return _FREE
    earlier = [dict(zip(_TRY, each, strict=True)) for each in cost.earlier] or None
    return (cost.ms, cost.bytes, cost.tries, earlier)
