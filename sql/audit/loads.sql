-- One row per load: its payloads by verdict.
select
    -- keys
    load_id,
    -- what it is
    any_value(kind) as kind, -- a load is of one kind and one source
    any_value(source) as source,
    coalesce(bool_or(is_backfill), false) as is_backfill,
    -- verdicts
    count(*) as payload_count,
    count(*) filter (where verdict = 'accepted') as accepted_count,
    count(*) filter (where verdict = 'unchanged') as unchanged_count,
    count(*) filter (where verdict = 'quarantined') as quarantined_count,
    count(*) filter (where verdict = 'missing') as not_found_count,
    count(*) filter (where verdict = 'failed') as failed_count,
    count(*) filter (where id is null) as no_id_count,
    max(seq) + 1 as received_count,
    count(distinct seq) as validated_count,
    -- times
    any_value(load_started_at) as started_at,
    min(observed_at) as first_observed_at,
    max(observed_at) as last_observed_at,
from raw.observations
group by load_id
