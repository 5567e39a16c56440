-- One row per entity type and observed status change.
select
    -- keys
    entity_type,
    previous_status,
    status,
    -- how often
    cast(sum(occurrence_count) as bigint) as occurrence_count,
    min(first_seen_at) as first_seen_at,
    max(last_seen_at) as last_seen_at,
    min(example_id) as example_id,
from audit.daily_status_transitions
group by entity_type, previous_status, status
