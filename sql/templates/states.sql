-- One row per id with several observations, or with an earlier state: its new state.
with observed as (
    select
        observations.*,
        verdict in ('accepted', 'unchanged') as good,
        row_number() over (
            partition by observations.kind, observations.id
            order by observed_at nulls first, source, load_id, seq
        ) as n,
        before.sha256 as sha256_before,
    from touched.observations as observations
    left join touched.before as before on observations.kind = before.kind and observations.id = before.id
    where exists (
        select 1 from touched.repeated as r where r.kind = observations.kind and r.id = observations.id
    )
),
goods as (
    select
        *,
        sha256 is distinct from lag(sha256, 1, sha256_before) over (partition by kind, id order by n) as starts,
    from observed where good
),
runs as (
    select
        kind, id, max(n) as last_good,
        arg_max(sha256, n) as sha256,
        arg_max(observed_at, n) as last_good_at, -- skips nulls, which come first
        arg_max(customer_key, n) filter (where customer_key is not null) as customer_key,
        arg_max({'at': observed_at, 'load_id': load_id}, n) filter (where starts) as start,
        count(*) filter (where starts) as started,
    from goods group by kind, id
),
lasts as (
    select
        kind, id, max(n) as n,
        arg_max(source, n) as last_source,
        arg_max(load_id, n) as last_load_id,
        arg_max(seq, n) as last_seq,
        arg_max(verdict, n) as last_verdict,
        max(observed_at) as last_observed_at,
        max(observed_at) filter (where verdict not in ('quarantined', 'failed')) as last_checked_at,
    from observed group by kind, id
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
        lasts.kind, lasts.id,
        list_reduce(
            list_transform(coalesce(misses.times, []), lambda t: struct_pack(n := 0::bigint, at := t)),
            lambda a, t: if(
                a.at is null or t.at >= a.at + interval 1 hour, struct_pack(n := a.n + 1, at := t.at), a
            ),
            struct_pack(
                n := if(runs.id is null, coalesce(before.misses, 0), 0)::bigint,
                at := if(runs.id is null, before.missed_at, null)
            )
        ) as miss,
    from lasts
    left join misses on lasts.kind = misses.kind and lasts.id = misses.id
    left join runs on lasts.kind = runs.kind and lasts.id = runs.id
    left join touched.before as before on lasts.kind = before.kind and lasts.id = before.id
)

select
    lasts.kind, lasts.id,
    coalesce(before.versions, 0) + coalesce(runs.started, 0) as versions,
    coalesce(runs.sha256, before.sha256) as sha256,
    if(runs.start is null, before.fetched_at, runs.start.at) as fetched_at,
    if(runs.start is null, before.fetch_load_id, runs.start.load_id) as fetch_load_id,
    coalesce(runs.customer_key, before.customer_key) as customer_key,
    if(runs.id is null, before.last_good_at, runs.last_good_at) as last_good_at,
    counted.miss.n as misses,
    counted.miss.at as missed_at,
    coalesce(lasts.last_observed_at, before.last_observed_at) as last_observed_at,
    lasts.last_source, lasts.last_load_id, lasts.last_seq, lasts.last_verdict,
    coalesce(lasts.last_checked_at, before.last_checked_at) as last_checked_at,
from lasts
inner join counted on lasts.kind = counted.kind and lasts.id = counted.id
left join runs on lasts.kind = runs.kind and lasts.id = runs.id
left join touched.before as before on lasts.kind = before.kind and lasts.id = before.id
