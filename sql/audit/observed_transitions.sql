-- One row per kind of status, and change of it that was observed.
select
    -- keys
    status_of,
    status_before,
    status,
    -- how often
    cast(sum(times) as bigint) as times,
    min(first_seen_at) as first_seen_at,
    max(last_seen_at) as last_seen_at,
    min(example_id) as example_id,
from audit.daily_transitions
group by status_of, status_before, status
