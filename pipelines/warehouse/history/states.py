"""Fold observations into one state per (kind, id): the latest version, and whether the service still knows it.

Observations are ordered by (observed_at nulls first, source, load_id, seq), never by time of loading. A version is a
run of equal hashes among the good verdicts (accepted, unchanged). A quarantined body changes nothing but what was
last seen.

The fold goes on from a known state where every new observation is later than all that the state has seen; an id with
an earlier one is folded again from all its observations. Either way gives the same row: a rebuild equals increments.

`fold_runs` finds the versions themselves, each a run, numbered from 1 per (kind, id) in the same order. It goes on from
a known state in the same way: the first run may then be the state's own, seen again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.warehouse.catalogue.generated_selects import filled
from pipelines.warehouse.storage import spelled

if TYPE_CHECKING:
    import duckdb

STATE = {
    "kind": "VARCHAR",
    "id": "BIGINT",
    # how many versions there are; the latest one: its hash, and the observation that its run starts with
    "versions": "BIGINT",
    "sha256": "VARCHAR",
    "fetched_at": "TIMESTAMP WITH TIME ZONE",
    "fetch_load_id": "VARCHAR",
    "customer_key": "VARCHAR",
    "last_good_at": "TIMESTAMP WITH TIME ZONE",
    # 404s since then, each at least an hour after the one counted before
    "misses": "BIGINT",
    "missed_at": "TIMESTAMP WITH TIME ZONE",
    # the last observation of all
    "last_observed_at": "TIMESTAMP WITH TIME ZONE",
    "last_source": "VARCHAR",
    "last_load_id": "VARCHAR",
    "last_seq": "BIGINT",
    "last_verdict": "VARCHAR",
    "last_checked_at": "TIMESTAMP WITH TIME ZONE",
}
_COLUMNS = ", ".join(STATE)


_KEY = "row(coalesce({0}observed_at, '-infinity'::timestamptz), {0}source, {0}load_id, {0}seq)"


def create_states(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """Create an empty table of states."""
    con.execute(f"create or replace table {name} ({spelled(STATE.items())})")


def fold(con: duckdb.DuckDBPyConnection, observations: str, before: str, into: str) -> None:
    """Add to `into`, an empty table of states, the state after `observations` of each id in them.

    `before` is a table of states that hold for ids all of whose `observations` are later.
    """
    con.execute(
        f"""
        create or replace table touched.repeated as
        select kind, id from {observations} where id is not null group by kind, id having count(*) > 1
        union
        select b.kind, b.id from {before} as b
        where exists (select 1 from {observations} as o where o.kind = b.kind and o.id = b.id)
        """
    )
    con.execute(f"create or replace view touched.observations as from {observations}")
    con.execute(f"create or replace view touched.before as from {before}")
    for name in ("states_of_single_observations", "states"):
        con.execute(f"insert into {into} ({_COLUMNS}) {filled(name)}")


def create_late(con: duckdb.DuckDBPyConnection, observations: str, before: str, into: str) -> int:
    """Make `into` the (kind, id) with an observation earlier than one already folded; return how many."""
    con.execute(
        f"""
        create or replace table {into} as
        select distinct observations.kind, observations.id
        from {observations} as observations
        inner join {before} as before
            on observations.kind = before.kind and observations.id = before.id
        where {_KEY.format("observations.")}
            <= row(
                coalesce(before.last_observed_at, '-infinity'::timestamptz),
                before.last_source, before.last_load_id, before.last_seq
            )
        """
    )
    row = con.execute(f"select count(*) from {into}").fetchone()
    return int(row[0]) if row else 0


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
