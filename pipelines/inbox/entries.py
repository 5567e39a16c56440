"""What an entry of the work list is, and the statement that adds one.

Knows nothing of who adds it: the work list and the webhook receiver use one statement, so that a
delivery and its entry can be committed together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    import sqlite3
    from datetime import datetime

Kind = Literal["stores", "menus", "orders"]
State = Literal["waiting", "started", "done", "dead", "given_up"]
KINDS: tuple[Kind, ...] = get_args(Kind)

INT64 = range(-(2**63), 2**63)
_MOST_REASONS = 62

# A new hint makes an entry due whatever became of it before. A fetch that is under way goes on and
# does not cover it.
UPSERT = """
insert into entries (kind, id, state, why, due_at, added_at, hinted_at, hints)
select :kind, value, 'waiting', :why, :due, :now, :now, 1 from ({ids}) as given where true
on conflict (kind, id) do update set
    state = case state when 'started' then 'started' else 'waiting' end,
    why = case when due_at is null then excluded.why else why | excluded.why end,
    due_at = case when due_at is null then excluded.due_at else min(due_at, excluded.due_at) end,
    added_at = case when due_at is null then excluded.added_at else added_at end,
    tries = case when due_at is null then 0 else tries end,
    misses = 0,
    hinted_at = max(hinted_at, excluded.hinted_at),
    hints = entries.hints + 1
where :since is null or state <> 'done' or finished_at < :since
"""
FROM_JSON = "select distinct value from json_each(:ids)"
FROM_RANGE = """
with recursive counted(value) as (
    select :first union all select value + 1 from counted where value < :last
) select value from counted
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the work list: what is to be fetched, why, and what was tried."""

    kind: str
    id: int
    state: State
    why: frozenset[str]
    added_at: datetime
    due_at: datetime | None
    last_tried_at: datetime | None
    finished_at: datetime | None
    tries: int
    misses: int
    reason: str | None


def reason_bit(connection: sqlite3.Connection, why: str) -> int:
    """Return the bit of a reason, making it when it is new; call it inside a transaction."""
    connection.execute(
        "insert into reasons (no, name) select (select count(*) from reasons), :why "
        "where not exists (select 1 from reasons where name = :why)",
        {"why": why},
    )
    no: int = connection.execute("select no from reasons where name = ?", (why,)).fetchone()[0]
    if no > _MOST_REASONS:
        raise ValueError(f"more than {_MOST_REASONS} reasons: a reason is a category, not a text")
    return 1 << no
