-- One row per id that the service was asked for in a load, and what came of it.
select
    -- keys
    load_id,
    seq,
    -- what was asked for
    kind,
    id as entity_id,
    -- what came
    verdict as outcome,
    reason,
    http_status,
    -- what it took
    ms,
    bytes,
    tries,
    -- times
    observed_at as fetched_at,
from raw.observations
where source = 'live' and tries is not null -- what is judged again was not asked for
