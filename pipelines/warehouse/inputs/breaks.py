"""What people decided of breaks, from the ledger, as raw.break_decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from pipelines.ledger import ledger_of
from pipelines.ledger.decisions import ACCEPTED, ASSIGNED, COMMENTED, decisions

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

ACTS = (ACCEPTED, ASSIGNED, COMMENTED)
COLUMNS: dict[str, dict[str, str]] = {
    "raw.break_decisions": {
        "order_id": "BIGINT",
        "content": "VARCHAR",
        "reason": "VARCHAR",
        "accepted_by": "VARCHAR",
        "accepted_as": "VARCHAR",
        "accepted_at": "TIMESTAMP WITH TIME ZONE",
        "assignee": "VARCHAR",
        "comment_count": "BIGINT",
    }
}


def create_break_decisions(con: duckdb.DuckDBPyConnection, name: str, data_dir: Path) -> None:
    """Fill raw.break_decisions: one row per order of which anything was decided."""
    found = decisions(ledger_of(data_dir).entries())
    entries = [each.accepted for each in found.values()]
    rows = pa.table(
        {
            "order_id": pa.array(found, pa.int64()),
            "content": pa.array([each.content for each in found.values()], pa.string()),
            "reason": pa.array([entry and entry.body["reason"] for entry in entries], pa.string()),
            "accepted_by": pa.array([entry and entry.who for entry in entries], pa.string()),
            "accepted_as": pa.array([entry and entry.body["as"] for entry in entries], pa.string()),
            "accepted_at": pa.array([entry and entry.moment for entry in entries], pa.timestamp("us", tz="UTC")),
            "assignee": pa.array([each.assignee for each in found.values()], pa.string()),
            "comment_count": pa.array([len(each.comments) for each in found.values()], pa.int64()),
        }
    )
    con.from_arrow(rows).insert_into(name)
