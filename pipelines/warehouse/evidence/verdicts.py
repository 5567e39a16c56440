"""The evidence of one population's orders: the forms that they do not refute, and which of these is supported."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pipelines.warehouse.evidence.chances import fewest_fits, lower_bound

if TYPE_CHECKING:
    import duckdb

    from pipelines.warehouse.evidence.forms import Floats, Forms, Ints, Patterns

SUPPORTED = "supported"  # one form holds, and its rivals fail
AGREED = "agreed"  # several remain, which differ only in what (nearly) no order holds
COMPATIBLE = "compatible"  # not refuted, but too few orders to clear the share that settings ask for
UNDECIDED = "undecided"  # several remain that differ in what many orders hold
NONE = "none"  # every form is refuted
_BY_CHANCE = 0.25  # a form that fits fewer, of orders that refute all, says nothing of them


@dataclass(frozen=True)
class Asked:
    """What settings ask for: so many orders that distinguish, and at most this share that breaks the rule."""

    orders: int
    noise: float


def read_asked(con: duckdb.DuckDBPyConnection) -> Asked:
    """Return what raw.settings asks for."""
    row = con.execute(
        "select formula_min_distinguishing_orders, formula_max_violation_rate from raw.settings"
    ).fetchone()
    return Asked(*(row or (20, 0.05)))


@dataclass
class Judgement:
    """The evidence of a population's orders. Forms and parts are places, from 0."""

    verdict: str
    leader: int
    orders: int
    fits: int
    held: Ints
    """[part]: how many orders hold it."""
    held_fits: Floats
    """[part, form]: how many of those each form fits."""
    all_fits: Floats
    """[form]: how many orders each form fits."""
    candidates: list[int]
    open_parts: list[int] = field(default_factory=list)
    borrowed: list[int] = field(default_factory=list)
    """Parts too rare here, answered as by all other populations."""


def judge(forms: Forms, patterns: Patterns, weights: Ints, asked: Asked, only: int | None = None) -> Judgement:
    """Judge a population given how many of its orders follow each pattern; `only` is a form that settings name."""
    counts = weights.astype(np.float64)
    all_fits = counts @ patterns.fits
    held = np.rint(counts @ patterns.holds).astype(np.int64)
    held_fits = (patterns.holds * counts[:, None]).T @ patterns.fits
    orders = int(weights.sum())
    refuted = np.zeros(len(all_fits), dtype=np.bool_)
    if orders >= asked.orders:
        refuted |= all_fits < fewest_fits(orders, asked.noise)
    for part in np.flatnonzero(forms.is_tested & (held >= asked.orders)):
        refuted |= held_fits[part] < fewest_fits(int(held[part]), asked.noise)
    candidates = [int(form) for form in np.flatnonzero(~refuted)]
    if only is not None:
        candidates = [form for form in candidates if form == only]
    leader = only if only is not None else best(forms, all_fits, candidates, orders)
    found = Judgement(NONE, leader, orders, round(float(all_fits[leader])), held, held_fits, all_fits, candidates)
    decide(forms, found, asked)
    return found


def best(forms: Forms, fits: Floats, among: list[int], orders: int) -> int:
    """Return the form that fits most, of equals the one nearest to the observed formula, then the first.

    Where none is left, and none fits more than chance would have it, that is the first one.
    """
    places = among or range(len(fits))
    if not among and fits.max(initial=0) < _BY_CHANCE * orders:
        return 0
    return min(places, key=lambda form: (-fits[form], forms.complexity[form], form))


def decide(forms: Forms, found: Judgement, asked: Asked) -> None:
    """Set verdict and open parts from the candidates that remain."""
    differing = forms.differs[found.leader, found.candidates].any(axis=0)
    found.open_parts = [int(part) for part in np.flatnonzero(differing & forms.is_tested)]
    if not found.candidates:
        found.verdict, found.open_parts = NONE, []
    elif any(found.held[part] >= asked.orders for part in found.open_parts):
        found.verdict = UNDECIDED
    elif found.orders < asked.orders or lower_bound(found.fits, found.orders) < 1 - asked.noise:
        found.verdict = COMPATIBLE
    elif any(_matters(forms, part) for part in found.open_parts):
        found.verdict = AGREED
    else:
        found.verdict = SUPPORTED


def _matters(forms: Forms, part: int) -> bool:
    """Tell whether an open part keeps a form from being named: most services never send another action."""
    return forms.parts[part] != "other action"
