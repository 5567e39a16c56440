"""audit.plans: what was planned, and what its sample and its probe showed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.sql.conftest import Run

PLAN = {"planned_at": "2026-11-20T03:15:00Z", "due": 5, "left_out": 0, "population": 900, "gap_requested_count": 0}


def test_shares_only_where_something_was_checked(run_table: Run) -> None:
    """A share stands with its bounds; without an answer, or before there was one, there is none."""
    bounds = {"confidence": 0.95, "share_low": 0.1, "share_high": 0.6}
    rows = run_table(
        "audit.plans",
        {
            "raw.plans": [
                PLAN | bounds | {"plan_no": 1, "sampled": 10, "checked": 8, "changed": 2, "missing": 1},
                PLAN | bounds | {"plan_no": 2, "sampled": 10, "checked": 0, "changed": 0, "missing": 0},
                PLAN | {"plan_no": 3, "sampled": 10},
            ]
        },
    )
    assert [(row["changed_rate"], row["changed_rate_low"], row["changed_rate_high"]) for row in rows] == [
        (0.25, 0.1, 0.6),
        (None, None, None),
        (None, None, None),
    ]
