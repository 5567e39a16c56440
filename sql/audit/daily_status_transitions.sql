-- One row per business day, entity type and observed status change.
with

changes as (
    select
        order_id,
        'order' as entity_type,
        previous_status,
        status,
        first_seen_at,
    from core.order_status_observations
    where is_change

    union all

    select
        order_id,
        'delivery' as entity_type,
        previous_status,
        status,
        first_seen_at,
    from core.delivery_status_observations
    where is_change
)

select
    -- keys
    orders.business_date,
    changes.entity_type,
    changes.previous_status,
    changes.status,
    -- how often
    count(*) as occurrence_count,
    min(changes.first_seen_at) as first_seen_at,
    max(changes.first_seen_at) as last_seen_at,
    min(changes.order_id) as example_id,
from changes
inner join mart.orders as orders on changes.order_id = orders.order_id
group by
    orders.business_date,
    changes.entity_type,
    changes.previous_status,
    changes.status
