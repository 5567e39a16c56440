"""Judge by which formulas orders are priced: divide them into populations, and say of each what its orders show.

One way: candidates, verdicts ← populations ← (residuals, wording) ← gathering; sales_sets stands beside them.
"""

from pipelines.warehouse.evidence.candidates import create_candidates
from pipelines.warehouse.evidence.gathering import gather_evidence
from pipelines.warehouse.evidence.sales_sets import gather_sales_sets
from pipelines.warehouse.inputs.relations import FORMULA_EVIDENCE

# A relation of schema raw → what fills it from tables before the table that reads it is made, and all that this fills.
GATHERED = {
    "raw.formula_populations": (gather_evidence, frozenset(FORMULA_EVIDENCE)),
    "raw.sales_sets": (gather_sales_sets, frozenset({"raw.sales_sets"})),
}

__all__ = ["GATHERED", "create_candidates", "gather_evidence"]
