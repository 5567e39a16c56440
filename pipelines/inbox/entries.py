"""An entry of the work list, and the statement that adds one.

The work list and the webhook receiver share this statement, so that a delivery and its entry are committed together.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pipelines.resources import resource

if TYPE_CHECKING:
    import sqlite3
    from datetime import datetime

State = Literal["waiting", "started", "done", "dead", "given_up"]

INT64 = range(-(2**63), 2**63)
_MOST_REASONS = 62
INTERVAL = 60 * 1_000_000  # microseconds from the last request of an id until a webhook makes it due again
BAD_TOGETHER = "failed with most others: "  # how a reason begins when most ids of the load failed, too

FROM_JSON = "select distinct value from json_each(:ids)"
FROM_RANGE = """
with recursive counted(value) as (
    select :first union all select value + 1 from counted where value < :last
) select value from counted
"""


@functools.cache
def upsert(ids: str) -> str:
    """Return the statement that adds the ids of a select, or the reason to those that are there."""
    return (resource("sql") / "inbox" / "upsert.sql").read_text(encoding="utf-8").format(ids=ids)


@dataclass(frozen=True, slots=True)
class Entry:
    """One id of the work list: why it is to be fetched, when it is due, and what was attempted."""

    kind: str
    id: int
    state: State
    why: frozenset[str]
    added_at: datetime
    due_at: datetime | None
    last_attempt_at: datetime | None
    finished_at: datetime | None
    attempts: int
    misses: int
    reason: str | None
    rejections: int


def reason_bit(connection: sqlite3.Connection, why: str) -> int:
    """Return the bit of a reason, adding a new one; call it inside a transaction."""
    connection.execute(
        "insert into reasons (no, name) select (select count(*) from reasons), :why "
        "where not exists (select 1 from reasons where name = :why)",
        {"why": why},
    )
    no: int = connection.execute("select no from reasons where name = ?", (why,)).fetchone()[0]
    if no > _MOST_REASONS:
        raise ValueError(f"more than {_MOST_REASONS} reasons: a reason is a category, not free text")
    return 1 << no
