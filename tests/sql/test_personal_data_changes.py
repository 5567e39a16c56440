"""audit.personal_data_changes: one row per observation of an order in which nothing but personal data changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run


@pytest.mark.duckdb2
def test_only_names_of_fields(run_table: Run) -> None:
    """A change shows which fields changed, and nothing else of them; observations without one are left out."""

    def seen(seq: int, fields: list[str] | None, kind: str = "orders", verdict: str = "unchanged") -> dict[str, Any]:
        return {"load_id": "L1", "seq": seq, "kind": kind, "id": 7, "verdict": verdict, "changed_personal": fields}

    given = [
        seen(0, []),
        seen(1, None),
        seen(2, ["user_name", "user_phone"]),
        seen(3, ["user_email"], "stores"),
        seen(4, ["tip"], verdict="accepted"),
    ]
    rows = run_table("audit.personal_data_changes", {"raw.observations": given})
    assert rows == [
        {
            "load_id": "L1",
            "seq": 2,
            "order_id": 7,
            "changed_fields": ["user_name", "user_phone"],
            "observed_at": None,
        }
    ]
