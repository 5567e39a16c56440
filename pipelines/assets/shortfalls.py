"""What a run could not fetch, or fetched and doubts: noted beside its results, so that the other kinds go on.

A step that failed would cost every step after it: one bad list of stores, all orders.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import dagster as dg

from pipelines.partner import ServiceDown
from pipelines.warehouse.build.known import unbuilt_loads

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pipelines.ingest.outcome import Ingested
    from pipelines.ingest.session import PartnerSession
    from pipelines.settings import Settings

INCOMPLETE, OUTAGE = "incomplete", "outage"


@dataclass(frozen=True)
class Shortfalls:
    """Sentences by kind, and whether an outage of the service is among the reasons."""

    sentences: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_outage: bool = False


def noted(ingested: Ingested) -> dict[str, Any]:
    """Return the metadata of a kind's asset that says what is missing; {} if nothing is."""
    if not ingested.shortfalls:
        return {}
    return {INCOMPLETE: "\n".join(ingested.shortfalls), OUTAGE: isinstance(ingested.stopped, ServiceDown)}


def shortfalls(materializations: Iterable[Any]) -> Shortfalls:
    """Return what the assets' materializations of a run note as missing."""
    sentences: dict[str, tuple[str, ...]] = {}
    is_outage = False
    for materialization in materializations:
        metadata = materialization.metadata
        if INCOMPLETE in metadata:
            sentences[materialization.asset_key.path[-1]] = tuple(str(metadata[INCOMPLETE].value).splitlines())
            is_outage |= bool(metadata[OUTAGE].value)
    return Shortfalls(sentences, is_outage)


def fail_if_nothing_came(settings: Settings, session: PartnerSession) -> None:
    """Fail the run if the service stopped it, nothing of it was landed, and nothing landed before waits to be built."""
    stopped = [ingested for ingested in session.ingested if ingested.stopped]
    if not stopped or any(ingested.requested for ingested in session.ingested) or unbuilt_loads(settings.data_dir):
        return
    kinds: dict[str, list[str]] = {}
    for ingested in stopped:
        kinds.setdefault(str(ingested.stopped), []).append(ingested.kind)
    sentence = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in kinds.items())
    raise dg.Failure(description=sentence, allow_retries=False) from stopped[0].stopped
