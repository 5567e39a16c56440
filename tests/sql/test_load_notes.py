"""workings.load_notes: what documents lacked or had beyond the interface, by the load that brought them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.sql.conftest import Run


@pytest.mark.duckdb2
def test_a_note_counts_documents_of_its_load(run_table: Run) -> None:
    """Loads stand apart; the three lowest ids are listed."""
    note = {"kind": "orders", "load_id": "a", "note": "tip=null"}
    rows = run_table(
        "workings.load_notes",
        {"raw.document_notes": [*(note | {"id": id_} for id_ in (9, 4, 7, 8)), note | {"load_id": "b", "id": 1}]},
    )
    assert [(row["load_id"], row["document_count"], row["example_ids"]) for row in rows] == [
        ("a", 4, [4, 7, 8]),
        ("b", 1, [1]),
    ]
