"""Gather the rows of a batch, column by column, as the raw tables want them.

Knows nothing of how a verdict is found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipelines.landing.judged import Judged
    from pipelines.landing.load import Refusal
    from pipelines.vault import Sealed


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
                judged.document.decode(),
                self._load_id,
                size,
                judged.absences,
                judged.rounded,
                *judged.counts,
                *judged.sums,
            )
        )

    def columns(self) -> list[Any] | None:
        """Return the rows as columns; None when there are none."""
        return [list(column) for column in zip(*self._rows, strict=True)] or None


class ObservationRows:
    """Rows of raw/observations."""

    def __init__(self, kind: str, load_id: str) -> None:
        self._kind = kind
        self._load_id = load_id
        self._rows: list[tuple[Any, ...]] = []

    def good(self, item: Any, judged: Judged, verdict: str, sealed: Sealed) -> None:
        """Add a document that was accepted or unchanged."""
        changed = sealed.changed if verdict == "unchanged" else []
        self._add(item, judged.id, verdict, judged.sha256.hex(), None, None, sealed.customer_key, changed, None)

    def refused(self, item: Any, refusal: Refusal, ref: str) -> None:
        """Add a body that was quarantined."""
        self._add(item, refusal.id, "quarantined", None, refusal.reason, refusal.pointer, None, [], ref)

    def missing(self, item: Any) -> None:
        """Add an id that the service has no document of."""
        self._add(item, item.asked, "missing", None, None, None, None, [], None)

    def failed(self, item: Any, refusal: Refusal) -> None:
        """Add an id that was asked for without an answer that could be judged."""
        self._add(item, refusal.id, "failed", None, refusal.reason, None, None, [], None)

    def _add(self, item: Any, id_: int | None, verdict: str, sha256: str | None, *rest: Any) -> None:
        self._rows.append(
            (
                self._kind,
                id_,
                item.seq,
                item.observed_at,
                item.source,
                verdict,
                sha256,
                item.http_status,
                self._load_id,
                *rest,
            )
        )

    def columns(self) -> list[Any] | None:
        """Return the rows as columns; None when there are none."""
        return [list(column) for column in zip(*self._rows, strict=True)] or None
