"""Find order ids without a notification: integers missing between known ones. Detect a wrong address by its 404s.

Pure: ids in, ids out.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

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
