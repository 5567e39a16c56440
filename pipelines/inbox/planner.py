"""Decide which known orders to request again, within a budget: by age, since no status is known to be final.

A random sample of older orders, and ids between known ones, find what nobody notified.
"""

import heapq
import random
from collections import Counter
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Literal

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


def plan(orders: Iterable[KnownOrder], now: datetime, settings: Planner, *, seed: int | None = None) -> Plan:
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
