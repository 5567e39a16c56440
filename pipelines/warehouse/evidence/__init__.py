"""Judge by which formulas orders are priced: divide them into populations, and say of each what its orders show.

One way: candidates, verdicts ← populations ← (residuals, wording) ← gathering.
"""

from pipelines.warehouse.evidence.candidates import create_candidates
from pipelines.warehouse.evidence.gathering import Gathered, gather_evidence, gather_target
from pipelines.warehouse.evidence.populations import (
    DIMENSIONS,
    Population,
    Tree,
    divide_by_days,
    divide_by_values,
    find_populations,
    shares_of,
)
from pipelines.warehouse.evidence.residuals import UNROUNDED, Rounding, judge_rounding
from pipelines.warehouse.evidence.verdicts import (
    AGREED,
    COMPATIBLE,
    NONE,
    SUPPORTED,
    UNDECIDED,
    Asked,
    Forms,
    Patterns,
    fewest_fits,
    judge,
    lower_bound,
    orders_needed,
)
from pipelines.warehouse.evidence.wording import deciding, distinguishing, rival_of, sentence

__all__ = [
    "AGREED",
    "COMPATIBLE",
    "DIMENSIONS",
    "NONE",
    "SUPPORTED",
    "UNDECIDED",
    "UNROUNDED",
    "Asked",
    "Forms",
    "Gathered",
    "Patterns",
    "Population",
    "Rounding",
    "Tree",
    "create_candidates",
    "deciding",
    "distinguishing",
    "divide_by_days",
    "divide_by_values",
    "fewest_fits",
    "find_populations",
    "gather_evidence",
    "gather_target",
    "judge",
    "judge_rounding",
    "lower_bound",
    "orders_needed",
    "rival_of",
    "sentence",
    "shares_of",
]
