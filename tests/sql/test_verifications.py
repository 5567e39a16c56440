"""audit.verifications: what was proven, and which verification of a part is the latest."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.sql.conftest import Run

ENTRY = {"order_count": 5, "table_count": 9, "difference_count": 0, "duration_ms": 1500, "part": "orders"}


def test_latest_verification_of_each_part(run_table: Run) -> None:
    """Of verifications that start at the same id, or of the same day, the last one is marked."""
    rows = run_table(
        "audit.verifications",
        {
            "raw.verifications": [
                ENTRY | {"verification_no": 1, "first_order_id": 1, "verified_at": "2026-11-20T03:15:00Z"},
                ENTRY | {"verification_no": 2, "first_order_id": 9, "verified_at": "2026-11-20T03:16:00Z"},
                ENTRY | {"verification_no": 3, "first_order_id": 1, "verified_at": "2026-11-21T03:15:00Z"},
                ENTRY
                | {"verification_no": 4, "part": "day", "business_date": "2026-11-01"}
                | {"verified_at": "2026-11-21T03:16:00Z", "difference_count": 2, "first_difference": "core.orders"},
            ]
        },
    )
    assert [(row["verification_no"], row["is_latest"], row["is_proven"]) for row in rows] == [
        (1, False, True),
        (2, True, True),
        (3, True, True),
        (4, True, False),
    ]
