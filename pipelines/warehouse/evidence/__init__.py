"""Judge by which formulas orders are priced: divide them into populations, and say of each what its orders show.

One way: candidates, verdicts ← populations ← (residuals, wording) ← gathering.
"""
