"""Find order ids that nobody named: integers missing between known ones. And doubt an address that knows none of ours.

Pure: ids in, ids out. Knows nothing of who asks for them; 404s of earlier probes come in as a set.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

_FEW = 5  # 404s; fewer than that can be chance however short the run
_SETTLING = 200  # answers before a share of them says much


def gap_ids(known: Iterable[int], not_found: AbstractSet[int], budget: int) -> list[int]:
    """Return at most `budget` ids that lie between known ones and were not asked for in vain before.

    Short gaps first, the newest of equal ones first: one id missing among neighbours is an order that nobody named, ten
    thousand missing are more likely somebody else's.
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
    """What a probe found: `unnamed` are ids that exist and that no webhook had named."""

    asked: int
    found: int
    unnamed: int

    def sentence(self) -> str:
        """Say it in one sentence."""
        return (
            f"{self.asked} ids between known ones were asked for: {self.found} exist, "
            f"{self.unnamed} of them no webhook had named."
        )


def gap_report(asked: AbstractSet[int], found: AbstractSet[int], hinted: AbstractSet[int]) -> GapReport:
    """Count what a probe found, and how much of it no webhook had named."""
    existing = asked & found
    return GapReport(len(asked), len(existing), len(existing - hinted))


class MissingGuard:
    """Watches a run's answers for ids that were known: more 404s than `limit` of them, and the address is in doubt.

    `known` is how many such ids the run will ask for. The share is taken of at least the first 200 of them (of
    all, when there are fewer), so that a few early 404s stop nothing; fewer than five never do.
    """

    def __init__(self, limit: float, known: int) -> None:
        self._limit, self._known = limit, known
        self.answered = 0
        self.missing = 0

    def see(self, *, missing: bool) -> bool:
        """Count one answer for a known id; return whether the run should stop."""
        self.answered += 1
        self.missing += missing
        return self.tripped

    @property
    def tripped(self) -> bool:
        """Whether more than the limit are missing."""
        of = max(self.answered, min(self._known, _SETTLING))
        return self.missing >= _FEW and self.missing > self._limit * of

    def sentence(self) -> str:
        """Say why the run stops."""
        return (
            f"{self.missing} of {self.answered} orders that were there before are not found, more than "
            f"{self._limit:.0%}: is base_url right?"
        )
