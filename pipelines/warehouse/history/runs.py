"""Fold observations into runs: the versions of a document, each a run of equal hashes among the good verdicts.

Runs are numbered from 1 per (kind, id), in the order of states.py. The fold goes on from a known state as that one
does: the first run may then be the state's own, seen again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.warehouse.catalogue.generated_selects import filled

if TYPE_CHECKING:
    import duckdb

RUN = {
    "kind": "VARCHAR",
    "id": "BIGINT",
    "version_no": "BIGINT",
    "sha256": "VARCHAR",
    # of the observation that the run starts with: null for a run that went on
    "first_seen_at": "TIMESTAMP WITH TIME ZONE",
    "load_id": "VARCHAR",
    "changed_personal": "VARCHAR[]",
    "last_seen_at": "TIMESTAMP WITH TIME ZONE",
    "is_new": "BOOLEAN",
}


def create_runs(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """Create an empty table of runs."""
    con.execute(f"create or replace table {name} ({', '.join(f'{c} {t}' for c, t in RUN.items())})")


def fold_runs(con: duckdb.DuckDBPyConnection, observations: str, before: str, only: str, into: str) -> None:
    """Add to `into` the runs of `observations` for the (kind, id) of the relation `only`.

    `before` is a table of states that hold for ids all of whose `observations` are later.
    """
    for name, relation in (("observations", observations), ("before", before), ("wanted", only)):
        con.execute(f"create or replace view touched.{name} as from {relation}")
    con.execute(f"insert into {into} ({', '.join(RUN)}) {filled('runs')}")
