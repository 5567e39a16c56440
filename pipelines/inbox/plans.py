"""Remember each night's plan, and what came of it: how much was due, what a random sample and a gap probe showed.

Knows nothing of how a plan is made or where the answers are. A log: it is kept, and cannot be made anew.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from pipelines.inbox.store import connect, micros, moment, transaction

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pipelines.inbox.gaps import GapReport
    from pipelines.inbox.learning import Missed
    from pipelines.inbox.planner import Plan


@dataclass(frozen=True, slots=True)
class KeptPlan:
    """One plan. What came of it is None until it was told: `checked` … `high` of the sample, `gap_…` of the probe.

    `low` and `high` bound the share of orders that changed unseen, with confidence `confidence`.
    """

    no: int
    planned_at: datetime
    due: int
    left_out: int
    population: int
    sample: tuple[int, ...]
    gap: tuple[int, ...]
    told_at: datetime | None
    checked: int | None
    changed: int | None
    missing: int | None
    confidence: float | None
    low: float | None
    high: float | None
    gap_found_count: int | None
    gap_unnotified_count: int | None


_COLUMNS = (
    "no, planned_at, due, left_out, population, sample, gap, told_at, checked, changed, missing, confidence, "
    "low, high, gap_found_count, gap_unnotified_count"
)


def keep_plan(path: Path, planned: Plan, gap: Sequence[int], planned_at: datetime) -> int:
    """Remember a plan, and the ids of its gap probe; return its number."""
    values = (
        micros(planned_at),
        len(planned.due),
        sum(planned.left_out.values()),
        planned.population,
        msgspec.json.encode(planned.sample).decode(),
        msgspec.json.encode(list(gap)).decode(),
    )
    with closing(connect(path)) as connection, transaction(connection):
        cursor = connection.execute(
            "insert into plans (planned_at, due, left_out, population, sample, gap) values (?, ?, ?, ?, ?, ?)", values
        )
        return int(cursor.lastrowid or 0)


def tell(path: Path, no: int, missed: Missed, missing: int, gaps: GapReport) -> None:
    """Note what came of a plan; `missing` are those of the sample that the service no longer has."""
    values = (micros(datetime.now(UTC)), missed.checked, missed.changed, missing, missed.confidence, missed.low)
    with closing(connect(path)) as connection, transaction(connection):
        connection.execute(
            "update plans set told_at = ?, checked = ?, changed = ?, missing = ?, confidence = ?, low = ?, high = ?, "
            "gap_found_count = ?, gap_unnotified_count = ? where no = ?",
            (*values, missed.high, gaps.found, gaps.unnamed, no),
        )


def plans(path: Path, after: int = 0) -> list[KeptPlan]:
    """Return the plans after number `after`, oldest first."""
    with closing(connect(path)) as connection:
        rows = connection.execute(f"select {_COLUMNS} from plans where no > ? order by no", (after,)).fetchall()
    kept = []
    for no, planned_at, due, left_out, population, sample, gap, told_at, *came in rows:
        at = moment(planned_at)
        assert at is not None  # noqa: S101 -- the column is not null
        drawn, probed = (tuple(msgspec.json.decode(each, type=list[int])) for each in (sample, gap))
        kept.append(KeptPlan(no, at, due, left_out, population, drawn, probed, moment(told_at), *came))
    return kept


def plans_state(path: Path) -> str:
    """Return what differs when the plans do: the last one's number, and how many were told of."""
    with closing(connect(path)) as connection:
        last, told = connection.execute("select coalesce(max(no), 0), count(told_at) from plans").fetchone()
        return f"{last}-{told}"
