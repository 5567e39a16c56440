-- One row per observation of an order in which nothing but personal data changed.
select
    -- keys
    load_id,
    seq,
    -- what changed
    id as order_id,
    changed_personal as changed_fields,
    -- times
    observed_at,
from raw.observations
where kind = 'orders' and verdict = 'unchanged' and len(changed_personal) > 0
