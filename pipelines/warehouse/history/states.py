"""Fold observations into one state per (kind, id): the latest version, and whether the service still knows it.

Observations are ordered by (observed_at nulls first, source, load_id, seq), never by time of loading. A version is a
run of equal hashes among the good verdicts (accepted, unchanged). A quarantined body changes nothing but what was
last seen.

The fold goes on from a known state where every new observation is later than all that the state has seen; an id with
an earlier one is folded anew from all its observations. Either way gives the same row: a rebuild equals increments.

Knows nothing of documents' contents or of tables made from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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

# An id with one observation and no past, which is most of them in a full build: no window, no sort.
_SINGLES = """
select
    kind, id,
    if(good, 1, 0) as versions,
    if(good, sha256, null) as sha256,
    if(good, observed_at, null) as fetched_at,
    if(good, load_id, null) as fetch_load_id,
    if(good, customer_key, null) as customer_key,
    if(good, observed_at, null) as last_good_at,
    if(verdict = 'missing' and observed_at is not null, 1, 0) as misses,
    if(verdict = 'missing', observed_at, null) as missed_at,
    observed_at as last_observed_at,
    source as last_source,
    load_id as last_load_id,
    seq as last_seq,
    verdict as last_verdict,
    if(verdict in ('quarantined', 'failed'), null, observed_at) as last_checked_at,
from (
    select
        kind, id, sha256, observed_at, load_id, customer_key, source, seq, verdict,
        verdict in ('accepted', 'unchanged') as good,
    from {observations} as o
    where id is not null
        and not exists (select 1 from {repeated} as r where r.kind = o.kind and r.id = o.id)
) as singles
"""

_FOLD = """
with

observed as (
    select
        observations.*,
        verdict in ('accepted', 'unchanged') as good,
        row_number() over (
            partition by observations.kind, observations.id
            order by observed_at nulls first, source, load_id, seq
        ) as n,
        before.sha256 as sha256_before,
    from {observations} as observations
    left join {before} as before
        on observations.kind = before.kind and observations.id = before.id
    where exists (
        select 1 from {repeated} as r where r.kind = observations.kind and r.id = observations.id
    )
),

goods as (
    select
        *,
        sha256 is distinct from lag(sha256, 1, sha256_before) over (
            partition by kind, id order by n
        ) as starts,
    from observed
    where good
),

runs as (
    select
        kind,
        id,
        max(n) as last_good,
        arg_max(sha256, n) as sha256,
        arg_max(observed_at, n) as last_good_at, -- skips nulls, which come first
        arg_max(customer_key, n) filter (where customer_key is not null) as customer_key,
        max(n) filter (where starts) as start,
        count(*) filter (where starts) as started,
    from goods
    group by kind, id
),

starts as (
    select runs.kind, runs.id, goods.observed_at as fetched_at, goods.load_id as fetch_load_id,
    from runs
    inner join goods on runs.kind = goods.kind and runs.id = goods.id and runs.start = goods.n
),

lasts as (
    select
        kind,
        id,
        max(n) as n,
        arg_max(source, n) as last_source,
        arg_max(load_id, n) as last_load_id,
        arg_max(seq, n) as last_seq,
        arg_max(verdict, n) as last_verdict,
        max(observed_at) as last_observed_at,
        max(observed_at) filter (where verdict not in ('quarantined', 'failed')) as last_checked_at,
    from observed
    group by kind, id
),

misses as (
    select observed.kind, observed.id, list(observed.observed_at order by n) as times,
    from observed
    left join runs on observed.kind = runs.kind and observed.id = runs.id
    where verdict = 'missing' and observed.observed_at is not null
        and (runs.last_good is null or n > runs.last_good)
    group by observed.kind, observed.id
),

counted as (
    select
        lasts.kind,
        lasts.id,
        list_reduce(
            list_transform(coalesce(misses.times, []), lambda t: struct_pack(n := 0::bigint, at := t)),
            lambda a, t: if(
                a.at is null or t.at >= a.at + interval 1 hour,
                struct_pack(n := a.n + 1, at := t.at),
                a
            ),
            struct_pack(
                n := if(runs.id is null, coalesce(before.misses, 0), 0)::bigint,
                at := if(runs.id is null, before.missed_at, null)
            )
        ) as miss,
    from lasts
    left join misses on lasts.kind = misses.kind and lasts.id = misses.id
    left join runs on lasts.kind = runs.kind and lasts.id = runs.id
    left join {before} as before on lasts.kind = before.kind and lasts.id = before.id
)

select
    lasts.kind,
    lasts.id,
    coalesce(before.versions, 0) + coalesce(runs.started, 0) as versions,
    coalesce(runs.sha256, before.sha256) as sha256,
    if(starts.id is null, before.fetched_at, starts.fetched_at) as fetched_at,
    if(starts.id is null, before.fetch_load_id, starts.fetch_load_id) as fetch_load_id,
    coalesce(runs.customer_key, before.customer_key) as customer_key,
    if(runs.id is null, before.last_good_at, runs.last_good_at) as last_good_at,
    counted.miss.n as misses,
    counted.miss.at as missed_at,
    coalesce(lasts.last_observed_at, before.last_observed_at) as last_observed_at,
    lasts.last_source,
    lasts.last_load_id,
    lasts.last_seq,
    lasts.last_verdict,
    coalesce(lasts.last_checked_at, before.last_checked_at) as last_checked_at,
from lasts
inner join counted on lasts.kind = counted.kind and lasts.id = counted.id
left join runs on lasts.kind = runs.kind and lasts.id = runs.id
left join starts on lasts.kind = starts.kind and lasts.id = starts.id
left join {before} as before on lasts.kind = before.kind and lasts.id = before.id
"""

_KEY = "row(coalesce({0}observed_at, '-infinity'::timestamptz), {0}source, {0}load_id, {0}seq)"


def create_states(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """Create an empty table of states."""
    con.execute(f"create or replace table {name} ({spelled(STATE.items())})")


def fold(con: duckdb.DuckDBPyConnection, observations: str, before: str, into: str) -> None:
    """Add to `into`, an empty table of states, the state after `observations` of each id in them.

    `before` is a table of states that hold for ids all of whose `observations` are later.
    """
    repeated = "touched.repeated"
    con.execute(
        f"""
        create or replace table {repeated} as
        select kind, id from {observations} where id is not null group by kind, id having count(*) > 1
        union
        select b.kind, b.id from {before} as b
        where exists (select 1 from {observations} as o where o.kind = b.kind and o.id = b.id)
        """
    )
    names = {"observations": observations, "before": before, "repeated": repeated}
    for select in (_SINGLES, _FOLD):
        con.execute(f"insert into {into} ({_COLUMNS}) {select.format(**names)}")


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
