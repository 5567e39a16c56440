"""The evidence of one population's orders: the forms that they do not refute, and which of these is supported.

How few fits are too few is a matter of exact binomial counts and of the lower bound of a share. Orders of one answer
are a pattern: which parts they hold, and which candidate forms fit them.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pipelines.verdict import Verdict

if TYPE_CHECKING:
    import duckdb

REFUTES = 1 / 500  # a rule that holds shows so few fits less often than this
_EXACT_TO = 1_000  # beyond, the normal approximation, corrected for skew, is off by one order at most
_Z_REFUTES = 2.8782  # the normal quantile of REFUTES
_Z_LOWER = 1.96  # of a two-sided 95% interval


@functools.cache
def fewest_fits(orders: int, noise: float) -> int:
    """Return the fewest fits among so many orders that do not refute a rule which a share `noise` may break.

    At least half: of few orders chance alone would let a rule stand that most of them break.
    """
    return max(_fewest_by_chance(orders, noise), -(-orders // 2))


def _fewest_by_chance(orders: int, noise: float) -> int:
    if orders == 0 or noise <= 0:
        return orders
    if orders > _EXACT_TO:
        mean, deviation = orders * (1 - noise), math.sqrt(orders * noise * (1 - noise))
        skew = (_Z_REFUTES**2 - 1) / 6 * (1 - 2 * noise)
        return math.ceil(mean - _Z_REFUTES * deviation - skew - 0.5)
    below, fits = 0.0, -1
    while below < REFUTES:
        fits += 1
        below += math.exp(
            math.lgamma(orders + 1)
            - math.lgamma(fits + 1)
            - math.lgamma(orders - fits + 1)
            + fits * math.log(1 - noise)
            + (orders - fits) * math.log(noise)
        )
    return fits


def lower_bound(fits: int, orders: int) -> float:
    """Return Wilson's lower bound, at 95%, of the share of which `fits` of `orders` are a sample."""
    if orders == 0:
        return 0.0
    share, square = fits / orders, _Z_LOWER**2
    middle = share + square / (2 * orders)
    spread = _Z_LOWER * math.sqrt(share * (1 - share) / orders + square / (4 * orders**2))
    return max((middle - spread) / (1 + square / orders), 0.0)


def orders_needed(fits: int, orders: int, floor: float) -> int | None:
    """Return how many more orders, fitting in the same share, would lift the lower bound to `floor`; None: none do."""
    if orders == 0 or fits / orders <= floor:
        return None
    low, high = orders, 2 * orders
    while lower_bound(round(high * fits / orders), high) < floor:
        low, high = high, 2 * high
        if high > 10**9:
            return None
    while low < high:
        middle = (low + high) // 2
        if lower_bound(round(middle * fits / orders), middle) < floor:
            low = middle + 1
        else:
            high = middle
    return low - orders


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
_NOT_ASKED = -9  # no parameter has this value


@dataclass(frozen=True)
class Forms:
    """The forms of a rule target, by place (form_no - 1); parts by place (part_no - 1)."""

    target: str
    names: list[str]
    descriptions: list[str]
    parameters: list[list[int | None]]
    complexity: Ints
    parts: list[str]
    deciding_cases: list[str]
    is_tested: Bools
    differs: Bools
    """[form, form, part]: whether the two treat an order that holds the part differently."""
    answers: Ints
    """[form, part]: the form's treatment of the part."""
    is_found: Bools
    """[form]: whether orders can support it; another is in force where settings name it."""


@dataclass(frozen=True)
class Patterns:
    """The distinct answers of orders: [pattern, form] whether it fits, [pattern, part] whether it is held."""

    fits: npt.NDArray[np.float32]
    holds: Bools


def read_forms(con: duckdb.DuckDBPyConnection, target: str) -> Forms:
    """Read the candidate forms and parts of a rule target from the catalogue tables."""
    forms = con.execute(
        "select form_description, rule_parameters, complexity, is_found, form from audit.formula_forms "
        "where rule_target = ? order by form_no",
        [target],
    ).fetchall()
    parts = con.execute(
        "select part, deciding_case, is_tested, parameter_no from audit.formula_parts "
        "where rule_target = ? order by part_no",
        [target],
    ).fetchall()
    asked_of = [[None if part[3] is None else form[1][part[3] - 1] for part in parts] for form in forms]
    answers = np.array([[_NOT_ASKED if each is None else each for each in row] for row in asked_of], dtype=np.int64)
    asked = answers != _NOT_ASKED
    differs = (answers[:, None] != answers[None]) & asked[:, None] & asked[None]
    return Forms(
        target,
        [form[4] for form in forms],
        [form[0] for form in forms],
        [form[1] for form in forms],
        np.array([form[2] for form in forms], dtype=np.int64),
        [part[0] for part in parts],
        [part[1] for part in parts],
        np.array([part[2] for part in parts], dtype=np.bool_),
        differs,
        answers,
        np.array([form[3] for form in forms], dtype=np.bool_),
    )


def ones(texts: list[str], width: int) -> Any:
    """Return [text, place] whether there is a 1, of texts as long as each other."""
    return np.frombuffer("".join(texts).encode("ascii"), dtype=np.uint8).reshape(len(texts), width) == ord("1")


SUPPORTED = "supported"  # one form holds, and its rivals fail
AGREED = "agreed"  # several remain, which differ only in what (nearly) no order holds
COMPATIBLE = "compatible"  # not refuted, but too few orders to clear the share that settings ask for
UNDECIDED = "undecided"  # several remain that differ in what many orders hold
NONE = "none"  # every form is refuted
NOT_TESTED = "not_tested"  # no order can be compared
_BY_CHANCE = 0.25  # a form that fits fewer, of orders that refute all, says nothing of them


@dataclass(frozen=True)
class EvidenceThresholds:
    """What settings ask for: so many orders that distinguish, and at most this share that breaks the rule."""

    orders: int
    noise: float


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

    def judged(self) -> Verdict:
        """Whether the orders support the leader: "supported" is said if it is good."""
        against = [] if self.verdict == SUPPORTED else [self.verdict]
        is_refuted = self.verdict == NONE
        checked = {"orders": self.orders, "fit": self.fits}
        return Verdict(checked, against if is_refuted else [], [] if is_refuted else against)


def judge(
    forms: Forms, patterns: Patterns, weights: Ints, asked: EvidenceThresholds, only: int | None = None
) -> Judgement:
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
    eligible = forms.is_found if only is None else np.arange(len(all_fits)) == only
    candidates = [int(form) for form in np.flatnonzero(~refuted & eligible)]
    leader = only if only is not None else best(forms, all_fits, candidates, orders)
    found = Judgement(NONE, leader, orders, round(float(all_fits[leader])), held, held_fits, all_fits, candidates)
    decide(forms, found, asked)
    return found


def best(forms: Forms, fits: Floats, among: list[int], orders: int) -> int:
    """Return the form that fits most, of equals the one nearest to the observed formula, then the first.

    Where none is left, and none fits more than chance would have it, that is the first one.
    """
    places = among or [int(form) for form in np.flatnonzero(forms.is_found)]
    if not among and fits[places].max(initial=0) < _BY_CHANCE * orders:
        return 0
    return min(places, key=lambda form: (-fits[form], forms.complexity[form], form))


def decide(forms: Forms, found: Judgement, asked: EvidenceThresholds) -> None:
    """Set verdict and open parts from the candidates that remain."""
    differing = forms.differs[found.leader, found.candidates].any(axis=0)
    found.open_parts = [int(part) for part in np.flatnonzero(differing & forms.is_tested)]
    if not found.orders:
        found.verdict, found.open_parts = NOT_TESTED, []
    elif not found.candidates:
        found.verdict, found.open_parts = NONE, []
    elif any(found.held[part] >= asked.orders for part in found.open_parts):
        found.verdict = UNDECIDED
    elif found.orders < asked.orders or lower_bound(found.fits, found.orders) < 1 - asked.noise:
        found.verdict = COMPATIBLE
    elif any(forms.parts[part] != "other action" for part in found.open_parts):  # most services never send another
        found.verdict = AGREED
    else:
        found.verdict = SUPPORTED
