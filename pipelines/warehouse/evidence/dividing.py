"""Divide the orders of a population by the one dimension that explains most of how they differ.

Orders of one value follow a form in a share of cases; an order that fits costs -log(share), one that does not costs
-log(1 - share) and what it takes to say its amount. The division that costs least is taken, if it saves enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.warehouse.evidence.forms import Floats, Ints

AMOUNT = 3.0  # nats: an amount that no form gives is one of at least twenty
ENOUGH = 12.0  # nats: chance saves so much once in 160,000 divisions that are looked at
GROUP = 6.0  # nats: a form among about eighty, and its share
MIXED = (0.75, 0.5, 0.25, 0.05)  # shares of groups in which no form holds
ALMOST_NONE = (0.25, 0.05)  # of groups that are set apart where a form holds: less than half as well
_GROUPS = 100  # at most, of one division
_CLEAN = (0.8, 0.98)  # bounds of the share in which a form that holds fits


@dataclass(frozen=True)
class Division:
    """Values (places) put in groups; the first group is the largest, and takes values never seen."""

    saved: float
    groups: list[list[int]]


@dataclass(frozen=True)
class Shares:
    """The share in which a form fits where it holds, and those of groups in which none does."""

    clean: float
    mixed: tuple[float, ...]

    @classmethod
    def of(cls, noise: float, *, is_closed: bool) -> Shares:
        """Return the shares to look for: a population that a form explains is closed but for clear exceptions."""
        return cls(min(max(1 - noise, _CLEAN[0]), _CLEAN[1]), ALMOST_NONE if is_closed else MIXED)

    def __iter__(self) -> Iterator[float]:
        return iter((self.clean, *self.mixed))


def divide_by_values(fits: Floats, orders: Ints, shares: Shares) -> Division | None:
    """Divide by a dimension without an order: [value, form] fits, [value] orders."""
    if len(orders) < 2:
        return None
    cell = math.log(len(orders)) + 1.0
    share, form, whole = min(_singles(fits, orders, shares), key=lambda single: single[2])
    groups = 1
    current = _costs(fits, orders, share)[:, form].copy()
    member = np.zeros(len(orders), dtype=np.int64)
    while groups < _GROUPS:
        saved, group, better = 0.0, None, None
        for share in shares:
            gain = np.maximum(current[:, None] - _costs(fits, orders, share) - cell, 0.0)
            total = gain.sum(axis=0) - GROUP
            form = int(total.argmax())
            if total[form] > saved + 1e-9:
                saved, group, better = float(total[form]), (share, form), gain[:, form] > 0
        if group is None or better is None:
            break
        member[better] = groups
        groups += 1
        current[better] = _costs(fits, orders, group[0])[better, group[1]] + cell
    saved = float(whole - current.sum() - GROUP * (groups - 1))
    return _division(saved, member, orders)


def divide_by_days(fits: Floats, orders: Ints, shares: Shares) -> Division | None:
    """Divide days, in their order, into spans; spans that follow one form in the same way are one group."""
    spans = [(0, len(orders))]
    sums, counts = _running(fits), _running(orders[:, None])[:, 0]
    while len(spans) < _GROUPS:
        found = max(((*_cut(sums, counts, span, shares), span) for span in spans), key=lambda each: each[0])
        if found[0] <= 0:
            break
        spans.remove(found[2])
        spans += [(found[2][0], found[1]), (found[1], found[2][1])]
    spans.sort()
    if len(spans) < 2:
        return None
    kinds = [_kind(sums[end] - sums[start], counts[end] - counts[start], shares) for start, end in spans]
    member = np.zeros(len(orders), dtype=np.int64)
    for (start, end), kind in zip(spans, kinds, strict=True):
        member[start:end] = kinds.index(kind)
    whole = _span_costs(sums[-1:] - sums[0], counts[-1:] - counts[0], shares)[0]
    apart = sum(_span_costs((sums[e] - sums[s])[None], (counts[e] - counts[s])[None], shares)[0] for s, e in spans)
    saved = float(whole - apart - (len(spans) - 1) * (GROUP + math.log(len(orders))))
    return _division(saved, member, orders)


def _cut(sums: Floats, counts: Floats, span: tuple[int, int], shares: Shares) -> tuple[float, int]:
    """Return the saving of the best cut of a span, and where it is."""
    start, end = span
    if end - start < 2:
        return 0.0, start
    inner = slice(start + 1, end)
    before = _span_costs(sums[inner] - sums[start], counts[inner] - counts[start], shares)
    after = _span_costs(sums[end] - sums[inner], counts[end] - counts[inner], shares)
    whole = _span_costs((sums[end] - sums[start])[None], (counts[end] - counts[start])[None], shares)[0]
    saved = whole - before - after - GROUP - math.log(end - start)
    place = int(saved.argmax())
    return float(saved[place]), start + 1 + place


def _span_costs(fits: Floats, orders: Floats, shares: Shares) -> Floats:
    most = fits.max(axis=1)
    costs: Floats = np.stack([_costs(most[:, None], orders, share)[:, 0] for share in shares]).min(axis=0)
    return costs


def _kind(fits: Floats, orders: float, shares: Shares) -> tuple[int, float]:
    form = int(fits.argmax())
    costs = [(float(_costs(fits[form][None, None], np.array([orders]), share)[0, 0]), share) for share in shares]
    return form, min(costs)[1]


def _running(values: Floats | Ints) -> Floats:
    return np.vstack([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0, dtype=np.float64)])


def _singles(fits: Floats, orders: Ints, shares: Shares) -> list[tuple[float, int, float]]:
    """Return for each share the form by which all orders cost least, and what they cost."""
    total, count = fits.sum(axis=0)[None], orders.sum()[None]
    found = []
    for share in shares:
        costs = _costs(total, count, share)[0]
        form = int(costs.argmin())
        found.append((share, form, float(costs[form])))
    return found


def _costs(fits: Floats, orders: Ints | Floats, share: float) -> Floats:
    """Return what orders cost, in nats, if each form fitted in this share of them: [value, form]."""
    fitting, missing = -math.log(share), AMOUNT - math.log(1 - share)
    return missing * np.asarray(orders, dtype=np.float64)[:, None] - (missing - fitting) * fits


def _division(saved: float, member: Ints, orders: Ints) -> Division | None:
    if saved <= ENOUGH:
        return None
    groups = [[int(value) for value in np.flatnonzero(member == group)] for group in np.unique(member)]
    if len(groups) < 2:
        return None
    groups.sort(key=lambda values: (-int(orders[values].sum()), values[0]))
    return Division(saved, groups)
