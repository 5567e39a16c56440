"""Learn from observations: for how long orders keep changing, how many changes are missed, which ids nobody notified.

Pure: plain values in, figures and sentences out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from collections.abc import Set as AbstractSet


_MIN_CHANGED = 100  # orders; with fewer nothing is learned
_SETTLED_RATE = 0.99


@dataclass(frozen=True, slots=True)
class History:
    """One order: when it was created, last changed (None: never) and last observed."""

    created_at: datetime
    last_changed_at: datetime | None
    last_seen_at: datetime


@dataclass(frozen=True, slots=True)
class Learned:
    """How long after their creation orders were last observed to change.

    `settled_after` is the age after which 99% of the orders that changed did not change again; timedelta.max if fewer
    than a hundred changed. It covers only the time during which orders were observed: see `watched_for`.
    """

    orders: int
    changed: int
    half: timedelta | None
    settled_after: timedelta
    longest: timedelta | None
    watched_for: timedelta | None

    def sentence(self) -> str:
        """Summarise what was learned and its limits, in a few sentences."""
        if self.half is None or self.longest is None:
            return f"None of {self.orders} orders was observed to change: how long orders keep changing is unknown."
        sentence = (
            f"{self.changed} of {self.orders} orders were observed to change, half of them for the last time within "
            f"{_span(self.half)} of their creation, the latest after {_span(self.longest)}."
        )
        if self.settled_after == timedelta.max:
            return f"{sentence} That is too few to plan by."
        return (
            f"{sentence} 99% had settled after {_span(self.settled_after)}. Half of all orders were observed for "
            f"{_span(self.watched_for or timedelta())} or less: later changes show only in the sample."
        )


def learn(histories: Iterable[History]) -> Learned:
    """Learn from the histories of orders; times before an order's creation count as zero."""
    lags: list[float] = []
    watched: list[float] = []
    for order in histories:
        watched.append(max(0.0, (order.last_seen_at - order.created_at).total_seconds()))
        if order.last_changed_at is not None:
            lags.append(max(0.0, (order.last_changed_at - order.created_at).total_seconds()))
    lags.sort()
    watched.sort()
    settled = _at(lags, _SETTLED_RATE) if len(lags) >= _MIN_CHANGED else None
    return Learned(
        orders=len(watched),
        changed=len(lags),
        half=_at(lags, 0.5),
        settled_after=timedelta.max if settled is None else settled,
        longest=_at(lags, 1.0),
        watched_for=_at(watched, 0.5),
    )


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


def missed_changes(checked: int, changed: int, population: int, confidence: float = 0.95) -> Missed:
    """Estimate the rate of missed changes, with the exact interval of Clopper and Pearson.

    C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial",
    Biometrika 26 (1934) 404-413: `low` is the p at which `changed` or more of `checked` have probability a/2, `high`
    the p at which `changed` or fewer have it, a = 1 - confidence. It covers the true rate at least that often,
    whatever the rate. Raise ValueError for impossible counts.
    """
    if not 0 <= changed <= checked <= population:
        raise ValueError("counts must satisfy 0 <= changed <= checked <= population")
    if not 0 < confidence < 1:
        raise ValueError("confidence must be between 0 and 1")
    tail = (1 - confidence) / 2
    low = 0.0 if changed == 0 else _root(lambda p: _at_most(checked - changed, checked, 1 - p) - tail)
    high = 1.0 if changed == checked else _root(lambda p: tail - _at_most(changed, checked, p))
    return Missed(checked, changed, population, confidence, low, high)


def _at_most(k: int, n: int, p: float) -> float:
    """Return the probability of k or fewer successes in n trials, summing the shorter tail."""
    if p <= 0:
        return 1.0
    if p >= 1:
        return 1.0 if k >= n else 0.0
    if k > n * p:
        return 1.0 - _sum(range(k + 1, n + 1), n, p)
    return _sum(range(k, -1, -1), n, p)


def _sum(successes: range, n: int, p: float) -> float:
    """Add up binomial probabilities, given in decreasing order."""
    total = 0.0
    for i in successes:
        log = math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1)
        term = math.exp(log + i * math.log(p) + (n - i) * math.log1p(-p))
        total += term
        if term < total * 1e-17:
            break
    return total


def _root(rising: Callable[[float], float]) -> float:
    """Return the zero of a function that increases over [0, 1]."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if rising(middle) < 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _at(ordered: list[float], share: float) -> timedelta | None:
    """Return the smallest value that at least this share of the values does not exceed."""
    if not ordered:
        return None
    return timedelta(seconds=ordered[max(0, math.ceil(share * len(ordered)) - 1)])


def _span(time: timedelta) -> str:
    hours = time.total_seconds() / 3600
    if hours < 1:
        return f"{hours * 60:.0f} minutes"
    return f"{hours:.1f} hours" if hours < 48 else f"{hours / 24:.1f} days"


_MIN_BAD = 5  # fewer can be chance, however short the run
_MIN_ALL = 2  # when nothing at all is good
_MIN_RESPONSES = 200  # before a rate means much


def gap_ids(known: Iterable[int], not_found: AbstractSet[int], budget: int) -> list[int]:
    """Return at most `budget` ids between known ones that were not answered with 404 before.

    Short gaps first, of equal ones the newest: one missing id among neighbours is probably an order without a
    notification, ten thousand are more likely another client's.
    """
    ordered = sorted(set(known))
    gaps = [(after - before - 1, -before) for before, after in pairwise(ordered) if after - before > 1]
    gaps.sort()
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


def is_above(limit: float, bad: int, answered: int) -> bool:
    """Tell whether the rate of bad answers is above the limit: at least five of them, or all of two and more."""
    return (bad >= _MIN_BAD and bad > limit * answered) or (bad >= _MIN_ALL and bad == answered)


class NotFoundGuard:
    """Counts 404s for known ids in a run: a rate above `limit` suggests a wrong address.

    `known` is how many known ids the run will request. The rate is taken over at least 200 responses (over all, if
    there are fewer), so that a few early 404s stop nothing; fewer than five never do.
    """

    def __init__(self, limit: float, known: int, kind: str = "orders") -> None:
        self._limit, self._known, self._kind = limit, known, kind
        self.answered = 0
        self.not_found = 0

    def trips(self, *, not_found: bool) -> bool:
        """Count one response for a known id; return whether the run should stop."""
        self.answered += 1
        self.not_found += not_found
        responses = max(self.answered, min(self._known, _MIN_RESPONSES))
        return self.not_found >= _MIN_BAD and self.not_found > self._limit * responses

    @property
    def is_exceeded(self) -> bool:
        """Whether the rate over all responses is above the limit: among five 404s or more, or if nothing was found."""
        return is_above(self._limit, self.not_found, self.answered)

    def sentence(self) -> str:
        """Explain why the run stops."""
        return (
            f"{self.not_found:,} of {self.answered:,} known {self._kind} are not found (404), more than "
            f"{self._limit:.0%}: check [partner] base_url"
        )

    def sentence_on_new(self) -> str:
        """Explain doubts about ids that were never held."""
        return (
            f"{self.not_found:,} of {self.answered:,} requested {self._kind} that were never held are not found (404), "
            f"more than {self._limit:.0%}: check the ids and [partner] base_url"
        )
