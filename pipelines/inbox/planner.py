"""Decide which known orders to ask for again, within a budget: by age, since no status is known to be final.

Pure: takes plain values and a clock's reading, returns ids. Knows neither the warehouse that the values come from nor
the service that is asked.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipelines.inbox.learning import Learned
    from pipelines.inbox.worklist import WorkList
    from pipelines.settings import Planner

Tier = Literal["missing", "hot", "warm", "cold"]
# What is given up last when the budget is short: a 404 that may be early, then the young.
_RANK: dict[Tier, int] = {"missing": 0, "hot": 1, "warm": 2, "cold": 3}
# Interface section 7 gives 404 one meaning; an order is gone after three of them at least this far apart.
MISSING_APART = timedelta(hours=1)
PLANNER, SAMPLE = "planner", "sample"


@dataclass(frozen=True, slots=True)
class KnownOrder:
    """What the planner needs to know of an order.

    `last_checked_at` is None when only an archive of unknown time showed it. `presence` is what the service said last:
    present, missing (a 404, not yet often enough) or gone. `archive_only`: the service was never asked for it.
    """

    id: int
    created_at: datetime | None
    last_checked_at: datetime | None
    status: str | None
    presence: Literal["present", "missing", "gone"] = "present"
    archive_only: bool = False


@dataclass(frozen=True, slots=True)
class Planned:
    """An order to ask for, why, and since when it is due."""

    id: int
    tier: Tier
    due_since: datetime


@dataclass(frozen=True, slots=True)
class Plan:
    """What to ask for: `due` in the order of its importance, `sample` drawn at random from `population` orders.

    `left_out` counts by tier what was due and found no place in the budget; `resting` was asked for lately enough;
    `final` have a status that settings call final.
    """

    due: tuple[Planned, ...]
    sample: tuple[int, ...]
    population: int
    left_out: dict[Tier, int]
    resting: int
    final: int

    @property
    def requests(self) -> int:
        """How many requests the plan takes."""
        return len(self.due) + len(self.sample)

    def sentence(self) -> str:
        """Say what is planned and what is not, in one sentence."""
        tiers = Counter(planned.tier for planned in self.due)
        asked = ", ".join(f"{tiers[tier]} {tier}" for tier in _RANK if tiers[tier]) or "none due"
        said = f"{self.requests} known orders are asked for again: {asked}"
        if self.sample:
            said += f", {len(self.sample)} drawn at random from {self.population} that nothing else asks for"
        if self.left_out:
            said += f"; the budget leaves out {sum(self.left_out.values())} that are due"
        return said


def plan(
    orders: Iterable[KnownOrder],
    now: datetime,
    settings: Planner,
    *,
    learned: Learned | None = None,
    budget: int | None = None,
    seed: int | None = None,
) -> Plan:
    """Choose what to ask for at `now`: at most `budget` requests (default: [planner] request_budget), sample included.

    Half of the budget at most goes to the sample. When the rest is short: missing ones, then by tier, and within a tier
    those first whose age is one at which orders were seen to change, then the most overdue by the tier's own pace.
    Reads `orders` once and keeps no more of them than the budget. The same seed draws the same sample.
    """
    most = max(0, settings.request_budget if budget is None else budget)
    still_changing = timedelta(days=settings.cold_max_age_days) if learned is None else learned.settled_after
    drawn = _Reservoir(min(settings.sample_size, most // 2), random.Random(seed))  # noqa: S311 -- a sample, no secret
    chosen: list[tuple[tuple[float, ...], Planned]] = []
    due, kept = Counter[Tier](), Counter[Tier]()
    resting = final = 0
    for order in orders:
        if order.presence == "gone":
            continue
        is_final = order.presence == "present" and order.status in settings.final_statuses
        final += is_final
        tier = None if is_final else _tier(order, now, settings)
        if tier is None:
            if not order.archive_only:
                drawn.offer(order.id)
            continue
        pace = _pace(tier, settings)
        since = order.created_at or now
        if order.last_checked_at is not None:
            since = order.last_checked_at + pace
        if since > now:
            resting += 1
            continue
        due[tier] += 1
        changing = order.created_at is None or now - order.created_at <= still_changing
        urgency = (-_RANK[tier], changing, (now - since) / pace, -order.id)
        entry = (urgency, Planned(order.id, tier, since))
        if len(chosen) < most:
            heapq.heappush(chosen, entry)
        elif chosen:
            heapq.heappushpop(chosen, entry)
    chosen.sort(reverse=True)
    sample = drawn.taken
    first = tuple(planned for _, planned in chosen[: most - len(sample)])
    kept.update(planned.tier for planned in first)
    return Plan(first, tuple(sample), drawn.offered, dict(due - kept), resting, final)


def add_plan(work: WorkList, planned: Plan) -> None:
    """Put a plan on the work list, where it becomes one with whatever else asks for the same orders."""
    work.add("orders", (one.id for one in planned.due), PLANNER)
    work.add("orders", planned.sample, SAMPLE)


def _tier(order: KnownOrder, now: datetime, settings: Planner) -> Tier | None:
    """Return the tier of an order's age; None for an order that nothing but the sample asks for."""
    if order.presence == "missing":
        return "missing"
    if order.created_at is None:
        # Its age is not known: it may still change. What only a file showed was asked for by nobody.
        return None if order.archive_only else "cold"
    age = now - order.created_at
    if age <= timedelta(days=settings.hot_max_age_days):
        return "hot"
    if age <= timedelta(days=settings.warm_max_age_days):
        return "warm"
    return "cold" if age <= timedelta(days=settings.cold_max_age_days) else None


def _pace(tier: Tier, settings: Planner) -> timedelta:
    hours = {
        "hot": settings.hot_interval_hours,
        "warm": settings.warm_interval_hours,
        "cold": settings.cold_interval_hours,
    }
    return MISSING_APART if tier == "missing" else timedelta(hours=hours[tier])


class _Reservoir:
    """A uniform sample of a stream of unknown length: algorithm R (Vitter, ACM TOMS 11(1), 1985)."""

    def __init__(self, size: int, chance: random.Random) -> None:
        self.size, self.chance = size, chance
        self.offered = 0
        self.taken: list[int] = []

    def offer(self, id_: int) -> None:
        self.offered += 1
        if len(self.taken) < self.size:
            self.taken.append(id_)
        elif self.size and (place := self.chance.randrange(self.offered)) < self.size:
            self.taken[place] = id_
