-- One row per request sent for an id in a load, with its outcome.
with

requested as (
    select
        load_id,
        seq,
        kind,
        id as entity_id,
        if(verdict = 'missing', 'not_found', verdict) as outcome,
        reason,
        http_status,
        ms as duration_ms,
        bytes as response_bytes,
        tries as attempt_count,
        earlier_tries,
        observed_at as fetched_at,
    from raw.observations
    where source = 'live' and tries is not null -- reprocessed ones have none
),

earlier as (
    select
        load_id,
        seq,
        kind,
        entity_id,
        attempt_count,
        fetched_at,
        generate_subscripts(earlier_tries, 1) as attempt_no,
        unnest(earlier_tries) as attempt,
    from requested
)

select
    -- keys
    load_id,
    seq,
    attempt_count as attempt_no,
    -- what was requested
    kind,
    entity_id,
    -- the response
    outcome,
    reason,
    http_status,
    -- cost
    duration_ms,
    response_bytes,
    attempt_count,
    true as is_final_attempt,
    -- times
    fetched_at,
from requested
union all by name
select
    load_id,
    seq,
    attempt_no,
    kind,
    entity_id,
    'retried' as outcome,
    attempt.reason as reason,
    attempt.http_status as http_status,
    attempt.ms as duration_ms,
    attempt.bytes as response_bytes,
    attempt_count,
    false as is_final_attempt,
    fetched_at,
from earlier
