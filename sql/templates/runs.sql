-- One row per id and run of equal documents among its observations.
with goods as (
    select
        observations.*,
        coalesce(before.versions, 0) as versions_before, before.sha256 as sha256_before,
        row_number() over in_order as n,
        observations.sha256 is distinct from coalesce(lag(observations.sha256) over in_order, before.sha256) as starts,
    from touched.observations as observations
    left join touched.before as before on observations.kind = before.kind and observations.id = before.id
    where observations.verdict in ('accepted', 'unchanged')
        and exists (
            select 1 from touched.wanted as wanted
            where wanted.kind = observations.kind and wanted.id = observations.id
        )
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
    kind, id, version_no,
    any_value(sha256) as sha256, -- equal in a run
    first(observed_at order by n) filter (where starts) as first_seen_at,
    first(load_id order by n) filter (where starts) as load_id,
    first(changed_personal order by n) filter (where starts) as changed_personal,
    arg_max(customer_key, n) filter (where customer_key is not null) as customer_key,
    max(observed_at) as last_seen_at,
    bool_or(starts) as is_new,
from numbered
group by kind, id, version_no
