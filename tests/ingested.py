"""Fetch and land documents that are due, and raise the error that stopped it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.ingest import loop

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.inbox.worklist import WorkList
    from pipelines.settings import Settings
    from pipelines.settings.kinds import Kind


def ingest(settings: Settings, kind: Kind, request: Callable[[WorkList], None] | None = None) -> loop.Ingested:
    """Ingest one kind, or raise the error that ended it: what was landed by then stays."""
    found = loop.ingest(settings, kind, request=request)
    if found.stopped is not None:
        raise found.stopped
    return found
