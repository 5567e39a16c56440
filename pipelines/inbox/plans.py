"""Store each nightly plan and its results: how much was due, and the findings of random sample and gap probe.

A log: it cannot be recomputed.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from pipelines.clock import utc_now
from pipelines.inbox.store import connect, micros, moment, transaction

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from pipelines.inbox.gaps import GapReport
    from pipelines.inbox.learning import Missed
    from pipelines.inbox.planner import Plan


@dataclass(frozen=True, slots=True)
class KeptPlan:
    """One plan. Its results are None until it is evaluated: `checked` … `high` of the sample, `gap_…` of the probe.

    `low` and `high` bound the rate of orders that changed without a notification, at confidence level `confidence`.
    """

    no: int
    planned_at: datetime
    due: int
    left_out: int
    population: int
    sample: tuple[int, ...]
    gap: tuple[int, ...]
    evaluated_at: datetime | None
    checked: int | None
    changed: int | None
    missing: int | None
    confidence: float | None
    low: float | None
    high: float | None
    gap_found_count: int | None
    gap_unnotified_count: int | None


_COLUMNS = (
    "no, planned_at, due, left_out, population, sample, gap, evaluated_at, checked, changed, missing, confidence, "
    "low, high, gap_found_count, gap_unnotified_count"
)


def keep_plan(path: Path, planned: Plan, gap: Sequence[int], planned_at: datetime) -> int:
    """Store a plan and the ids of its gap probe; return its number."""
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


def keep_results(path: Path, no: int, missed: Missed, not_found: int, gaps: GapReport) -> None:
    """Store the results of a plan; `not_found` counts the sampled orders that the service no longer has."""
    values = (micros(utc_now()), missed.checked, missed.changed, not_found, missed.confidence, missed.low)
    with closing(connect(path)) as connection, transaction(connection):
        connection.execute(
            "update plans set evaluated_at = ?, checked = ?, changed = ?, missing = ?, confidence = ?, low = ?, "
            "high = ?, gap_found_count = ?, gap_unnotified_count = ? where no = ?",
            (*values, missed.high, gaps.found, gaps.unnotified, no),
        )


def plans(path: Path) -> list[KeptPlan]:
    """Return the plans, oldest first."""
    with closing(connect(path)) as connection:
        rows = connection.execute(f"select {_COLUMNS} from plans order by no").fetchall()
    kept = []
    for no, planned_at, due, left_out, population, sample, gap, evaluated_at, *results in rows:
        at = moment(planned_at)
        assert at is not None  # noqa: S101 -- the column is not null
        drawn, probed = (tuple(msgspec.json.decode(ids, type=list[int])) for ids in (sample, gap))
        kept.append(KeptPlan(no, at, due, left_out, population, drawn, probed, moment(evaluated_at), *results))
    return kept


def plans_state(path: Path) -> str:
    """Return a text that changes with the plans: the number of the last one, and how many are evaluated."""
    with closing(connect(path)) as connection:
        last, evaluated = connection.execute("select coalesce(max(no), 0), count(evaluated_at) from plans").fetchone()
        return f"{last}-{evaluated}"
