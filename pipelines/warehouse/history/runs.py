"""Fold observations into runs: the versions of a document, each a run of equal hashes among the good verdicts.

Runs are numbered from 1 per (kind, id), in the order of states.py. The fold goes on from a known state as that one
does: the first run may then be the state's own, seen again.

Knows nothing of contents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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

_RUNS = """
with

goods as (
    select
        observations.*,
        coalesce(before.versions, 0) as versions_before,
        before.sha256 as sha256_before,
        row_number() over in_order as n,
        observations.sha256 is distinct from coalesce(
            lag(observations.sha256) over in_order, before.sha256
        ) as starts,
    from {observations} as observations
    left join {before} as before
        on observations.kind = before.kind and observations.id = before.id
    where observations.verdict in ('accepted', 'unchanged')
        and exists (select 1 from {only} as o where o.kind = observations.kind and o.id = observations.id)
    window in_order as (
        partition by observations.kind, observations.id
        order by observations.observed_at nulls first, observations.source, observations.load_id, observations.seq
    )
),

numbered as (
    select
        *,
        versions_before + count(*) filter (where starts) over (
            partition by kind, id order by n rows unbounded preceding
        ) as version_no,
    from goods
)

select
    kind,
    id,
    version_no,
    any_value(sha256) as sha256, -- equal in a run
    first(observed_at order by n) filter (where starts) as first_seen_at,
    first(load_id order by n) filter (where starts) as load_id,
    first(changed_personal order by n) filter (where starts) as changed_personal,
    max(observed_at) as last_seen_at,
    bool_or(starts) as is_new,
from numbered
group by kind, id, version_no
"""


def create_runs(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """Create an empty table of runs."""
    con.execute(f"create or replace table {name} ({', '.join(f'{c} {t}' for c, t in RUN.items())})")


def fold_runs(con: duckdb.DuckDBPyConnection, observations: str, before: str, only: str, into: str) -> None:
    """Add to `into` the runs of `observations` for the (kind, id) of the relation `only`.

    `before` is a table of states that hold for ids all of whose `observations` are later.
    """
    select = _RUNS.format(observations=observations, before=before, only=only)
    con.execute(f"insert into {into} ({', '.join(RUN)}) {select}")
