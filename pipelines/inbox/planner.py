"""Decide which known orders to request again, within a budget, and learn from what came of it.

Orders are chosen by age, since no status is known to be final. Learned is how many changes are missed, and which ids
nobody notified. Each nightly plan is stored with its results, which cannot be recomputed.
"""

from __future__ import annotations

import bisect
import heapq
import math
import random
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import msgspec

from pipelines.clock import utc_now
from pipelines.inbox.store import connect, micros, moment, transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from pipelines.inbox.worklist import WorkList
    from pipelines.settings import Planner


Tier = Literal["not_found", "hot", "warm", "cold"]
Presence = Literal["present", "not_found", "deleted"]
# Priority when the budget is short: first 404s, which may be early, then young orders.
_RANK: dict[Tier, int] = {"not_found": 0, "hot": 1, "warm": 2, "cold": 3}
# Interface section 7 gives 404 one meaning; an order is deleted after three of them at least this far apart.
NOT_FOUND_APART = timedelta(hours=1)
PLANNER, SAMPLE = "planner", "sample"


@dataclass(frozen=True, slots=True)
class KnownOrder:
    """The facts of an order that the planner needs.

    `last_checked_at` is None if it is only known from an archive of unknown time. `presence` follows from the last
    responses: present, not_found (a 404, not yet often enough) or deleted. `archive_only`: it was never requested.
    """

    id: int
    created_at: datetime | None
    last_checked_at: datetime | None
    status: str | None
    presence: Presence = "present"
    archive_only: bool = False


@dataclass(frozen=True, slots=True)
class Planned:
    """An order to request, and its tier."""

    id: int
    tier: Tier


@dataclass(frozen=True, slots=True)
class Plan:
    """What to request: `due` by priority, `sample` drawn at random from `population` orders.

    `left_out` counts by tier what was due and exceeded the budget; `resting` orders were requested recently enough;
    `final` ones have a status that settings call final.
    """

    due: tuple[Planned, ...]
    sample: tuple[int, ...]
    population: int
    left_out: dict[Tier, int]
    resting: int
    final: int

    @property
    def requests(self) -> int:
        """How many requests the plan needs."""
        return len(self.due) + len(self.sample)

    def sentence(self) -> str:
        """Summarise the plan and its omissions in one sentence."""
        tiers = Counter(planned.tier for planned in self.due)
        due = ", ".join(f"{tiers[tier]} {tier.replace('_', ' ')}" for tier in _RANK if tiers[tier]) or "none due"
        sentence = f"{self.requests} known orders are requested again: {due}"
        if self.sample:
            sentence += f", {len(self.sample)} drawn at random from {self.population} that nothing else requests"
        if self.left_out:
            sentence += f"; {sum(self.left_out.values())} that are due exceed the budget"
        return sentence


def plan(
    orders: Iterable[KnownOrder],
    now: datetime,
    settings: Planner,
    *,
    seed: int | None = None,
) -> Plan:
    """Choose what to request at `now`: at most [planner] request_budget requests, sample included.

    At most half of the budget goes to the sample. The rest goes to orders not found, then by tier; within a tier to the
    most overdue relative to the tier's interval. An order that was checked while the clock was ahead is due: nobody
    knows how long ago that was. Reads `orders` once and keeps no more than the budget in memory. The same seed draws
    the same sample.
    """
    limit = settings.request_budget
    size, chance = min(settings.sample_size, limit // 2), random.Random(seed)  # noqa: S311 -- a sample, no secret
    sample: list[int] = []
    population = 0
    chosen: list[tuple[tuple[float, ...], Planned]] = []
    due, kept = Counter[Tier](), Counter[Tier]()
    resting = final = 0
    for order in orders:
        if order.presence == "deleted":
            continue
        is_final = order.presence == "present" and order.status in settings.final_statuses
        final += is_final
        tier = None if is_final else _tier(order, now, settings)
        if tier is None:
            if not order.archive_only:
                population += 1
                _offer(order.id, population, sample, size, chance)
            continue
        interval = (
            NOT_FOUND_APART if tier == "not_found" else timedelta(hours=getattr(settings, f"{tier}_interval_hours"))
        )
        since, is_ahead = order.created_at or now, False
        if order.last_checked_at is not None:
            since = order.last_checked_at + interval
            is_ahead = order.last_checked_at > now
        if since > now and not is_ahead:
            resting += 1
            continue
        due[tier] += 1
        urgency = (-_RANK[tier], (now - since) / interval, -order.id)
        entry = (urgency, Planned(order.id, tier))
        if len(chosen) < limit:
            heapq.heappush(chosen, entry)
        elif chosen:
            heapq.heappushpop(chosen, entry)
    chosen.sort(reverse=True)
    first = tuple(planned for _, planned in chosen[: limit - len(sample)])
    kept.update(planned.tier for planned in first)
    return Plan(first, tuple(sample), population, dict(due - kept), resting, final)


def add_plan(work: WorkList, planned: Plan) -> None:
    """Put a plan on the work list, which merges it with other requests for the same orders."""
    work.add("orders", (order.id for order in planned.due), PLANNER)
    work.add("orders", planned.sample, SAMPLE)


def _tier(order: KnownOrder, now: datetime, settings: Planner) -> Tier | None:
    """Return the tier of an order's age; None for an order that only the sample may request."""
    if order.presence == "not_found":
        return "not_found"
    if order.created_at is None:
        # Its age is unknown: it may still change. An order known only from a file was never requested.
        return None if order.archive_only else "cold"
    age = now - order.created_at
    if age <= timedelta(days=settings.hot_max_age_days):
        return "hot"
    if age <= timedelta(days=settings.warm_max_age_days):
        return "warm"
    return "cold" if age <= timedelta(days=settings.cold_max_age_days) else None


def _offer(id_: int, no: int, sample: list[int], size: int, chance: random.Random) -> None:
    """Sample a stream of unknown length uniformly: algorithm R (Vitter, ACM TOMS 11(1), 1985)."""
    if len(sample) < size:
        sample.append(id_)
    elif size and (place := chance.randrange(no)) < size:
        sample[place] = id_


_CONFIDENCE = 0.95
_PLACES = 2**50  # in which a probability is looked for


@dataclass(frozen=True, slots=True)
class Missed:
    """An estimate, from a random sample, of how many of `population` orders changed without a notification.

    `low` and `high` bound the rate at the given confidence level.
    """

    checked: int
    changed: int
    population: int
    confidence: float
    low: float
    high: float

    def sentence(self) -> str:
        """Summarise the estimate and its bounds in one sentence."""
        if not self.checked:
            return "No old order was checked: how many changes are missed is unknown."
        low, high = math.floor(self.low * self.population), math.ceil(self.high * self.population)
        return (
            f"Sample: {self.changed} of {self.checked} old orders had changed without a notification: "
            f"{self.changed / self.checked:.2%}, with {self.confidence:.0%} confidence between {self.low:.2%} and "
            f"{self.high:.2%}, which is {low} to {high} of {self.population} orders."
        )


def missed_changes(checked: int, changed: int, population: int) -> Missed:
    """Estimate the rate of missed changes, with the exact interval of Clopper and Pearson.

    C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial",
    Biometrika 26 (1934) 404-413: `low` is the p at which `changed` or more of `checked` have probability a/2, `high`
    the p at which `changed` or fewer have it, a = 5%. It covers the true rate at least that often,
    whatever the rate. Raise ValueError for impossible counts.
    """
    if not 0 <= changed <= checked <= population:
        raise ValueError("counts must satisfy 0 <= changed <= checked <= population")
    tail = (1 - _CONFIDENCE) / 2
    low = 0.0 if changed == 0 else _root(lambda p: 1 - _at_most(changed - 1, checked, p) - tail)
    high = 1.0 if changed == checked else _root(lambda p: tail - _at_most(changed, checked, p))
    return Missed(checked, changed, population, _CONFIDENCE, low, high)


def _at_most(k: int, n: int, p: float) -> float:
    """Return the probability of k or fewer successes in n trials, for p between 0 and 1."""
    logs = (math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) for i in range(k + 1))
    return math.fsum(math.exp(log + i * math.log(p) + (n - i) * math.log1p(-p)) for i, log in enumerate(logs))


def _root(rising: Callable[[float], float]) -> float:
    """Return the zero of a function that increases from 0 to 1."""
    return bisect.bisect_left(range(1, _PLACES), 1, key=lambda place: int(rising(place / _PLACES) >= 0)) / _PLACES


def gap_ids(known: Iterable[int], not_found: AbstractSet[int], budget: int) -> list[int]:
    """Return at most `budget` ids between known ones that were not answered with 404 before.

    Short gaps first, of equal ones the newest: one missing id among neighbours is probably an order without a
    notification, ten thousand are more likely another client's.
    """
    ordered = sorted(set(known))
    gaps = sorted((after - before - 1, -before) for before, after in pairwise(ordered) if after - before > 1)
    found: list[int] = []
    for length, negative in gaps:
        for id_ in range(-negative + 1, -negative + 1 + length):
            if len(found) >= budget:
                return found
            if id_ not in not_found:
                found.append(id_)
    return found


@dataclass(frozen=True, slots=True)
class GapReport:
    """The result of a probe: `unnotified` ids exist, but no webhook had named them."""

    requested: int
    found: int
    unnotified: int

    def sentence(self) -> str:
        """Summarise it in one sentence."""
        return (
            f"Gap probe: {self.requested} ids between known ones were requested, {self.found} exist, "
            f"{self.unnotified} of these without a webhook notification."
        )


def gap_report(requested: AbstractSet[int], found: AbstractSet[int], notified: AbstractSet[int]) -> GapReport:
    """Count what a probe found, and how much of it had no webhook notification."""
    existing = requested & found
    return GapReport(len(requested), len(existing), len(existing - notified))


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
        columns = ", ".join(field.name for field in fields(KeptPlan))
        rows = connection.execute(f"select {columns} from plans order by no").fetchall()
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
