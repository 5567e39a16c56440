-- One row per request that was sent for an id in a load, and what came of it.
with

asked as (
    select
        load_id,
        seq,
        kind,
        id,
        verdict,
        reason,
        http_status,
        ms,
        bytes,
        tries,
        earlier_tries,
        observed_at,
    from raw.observations
    where source = 'live' and tries is not null -- what is judged again was not asked for
),

earlier as (
    select
        load_id,
        seq,
        kind,
        id,
        tries,
        observed_at,
        generate_subscripts(earlier_tries, 1) as attempt_no,
        unnest(earlier_tries) as try,
    from asked
)

select
    -- keys
    load_id,
    seq,
    tries as attempt_no,
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
    true as is_final_attempt,
    -- times
    observed_at as fetched_at,
from asked
union all by name
select
    load_id,
    seq,
    attempt_no,
    kind,
    id as entity_id,
    'retried' as outcome,
    try.reason as reason,
    try.http_status as http_status,
    try.ms as ms,
    try.bytes as bytes,
    tries,
    false as is_final_attempt,
    observed_at as fetched_at,
from earlier
