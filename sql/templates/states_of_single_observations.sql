-- One row per id with one observation and no earlier state: without a window or a sort,
-- since these are most ids of a full build.
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
    observed_at as last_observed_at, source as last_source, load_id as last_load_id, seq as last_seq,
    verdict as last_verdict,
    if(verdict in ('quarantined', 'failed'), null, observed_at) as last_checked_at,
from (
    select
        kind, id, sha256, observed_at, load_id, customer_key, source, seq, verdict,
        verdict in ('accepted', 'unchanged') as good,
    from touched.observations as o
    where id is not null
        and not exists (select 1 from touched.repeated as r where r.kind = o.kind and r.id = o.id)
) as singles
