"""Gather the rows of a batch, column by column, as the raw tables want them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipelines.landing.plaintext import without_plaintext

if TYPE_CHECKING:
    import datetime as dt

    from pipelines.landing.validated import ValidatedDocument
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

    def add(self, validated: ValidatedDocument, size: int, *, is_erased: bool = False) -> None:
        """Add a document that is not stored yet; `size` is its bytes as received.

        The plaintext fields of an erased order are left out.
        """
        self._rows.append(
            (
                validated.id,
                validated.sha256.hex(),
                without_plaintext(validated.document) if is_erased else validated.document,
                self._load_id,
                size,
                validated.missing_fields,
                validated.rounded_count,
                b'"_unknown":' in validated.document,
                is_erased,
                *validated.counts,
                *validated.sums,
            )
        )

    def columns(self) -> list[Any] | None:
        """Return the rows as columns; None when there are none."""
        return [list(column) for column in zip(*self._rows, strict=True)] or None


class ObservationRows:
    """Rows of raw/observations."""

    def __init__(
        self,
        kind: str,
        load_id: str,
        load_started_at: dt.datetime,
        *,
        is_backfill: bool = False,
        has_customer_key: bool = True,
    ) -> None:
        self._kind = kind
        self._of_load = (is_backfill, load_started_at)
        self._load_id = load_id
        self._has_customer_key = has_customer_key
        self._rows: list[tuple[Any, ...]] = []

    def good(self, item: Waiting, validated: ValidatedDocument, verdict: str, encrypted: Encrypted) -> None:
        """Add a document that was accepted or unchanged."""
        self._rows.append(
            (
                self._kind,
                validated.id,
                item.seq,
                item.observed_at,
                item.source,
                verdict,
                validated.sha256.hex(),
                item.http_status,
                self._load_id,
                None,
                None,
                encrypted.customer_key if self._has_customer_key else None,
                encrypted.changed,
                None,
                *_took(item.cost),
                *self._of_load,
            )
        )

    def refused(self, item: Waiting, refusal: Refusal, ref: str) -> None:
        """Add a body that was quarantined."""
        self._bad(item, refusal.id, "quarantined", refusal.reason, refusal.pointer, ref)

    def missing(self, item: Waiting) -> None:
        """Add an id that the service has no document of."""
        self._bad(item, item.asked, "missing", None, None, None)

    def failed(self, item: Waiting, refusal: Refusal) -> None:
        """Add an id that was asked for without an answer that could be validated."""
        self._bad(item, refusal.id, "failed", refusal.reason, None, None)

    def _bad(
        self, item: Waiting, id_: int | None, verdict: str, reason: str | None, pointer: str | None, ref: str | None
    ) -> None:
        row = (self._kind, id_, item.seq, item.observed_at, item.source, verdict, None, item.http_status, self._load_id)
        self._rows.append((*row, reason, pointer, None, (), ref, *_took(item.cost), *self._of_load))

    def columns(self) -> list[Any] | None:
        """Return the rows as columns; None when there are none."""
        return [list(column) for column in zip(*self._rows, strict=True)] or None


def _took(cost: Cost | None) -> tuple[Any, ...]:
    if cost is None:
        return _FREE
    earlier = [dict(zip(_TRY, each, strict=True)) for each in cost.earlier] or None
    return (cost.ms, cost.bytes, cost.tries, earlier)
