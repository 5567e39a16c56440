"""Count the ids that are due, by kind and reason. Reads only."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pipelines.clock import utc_now
from pipelines.inbox.store import connect, micros

if TYPE_CHECKING:
    from pathlib import Path

_DUE = """
    select entries.kind, reasons.name, count(*) from entries
    join reasons on entries.why >> reasons.no & 1
    where entries.due_at <= ? group by 1, 2 order by 1, 2
"""


def due_by_reason(path: Path) -> dict[str, dict[str, int]]:
    """Return how many ids of each kind are due for each reason; an id with two reasons counts for both."""
    found: dict[str, dict[str, int]] = {}
    with closing(connect(path)) as connection:
        for kind, reason, number in connection.execute(_DUE, (micros(utc_now()),)):
            found.setdefault(kind, {})[reason] = number
    return found
