"""Judge by which formulas orders are priced: divide them into populations, and say what the orders show of each.

One way: chances ← forms ← verdicts ← dividing ← populations ← (roundings, residuals, wording) ← gathering. Knows
nothing of files, of the partner or of how a build runs; what it reads and writes are relations of one connection.
"""

from pipelines.warehouse.evidence.gathering import gather_evidence

__all__ = ["gather_evidence"]
