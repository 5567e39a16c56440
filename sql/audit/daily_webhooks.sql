-- One row per day and topic: webhook notifications, and how many ids were fetched since.
with

notifications as (
    select
        cast(received_at at time zone 'UTC' as date) as received_date,
        topic,
        kind,
        id,
        received_at,
    from raw.hints
),

states as (
    select
        kind,
        id,
        last_checked_at,
    from raw.states
)

select
    -- keys
    notifications.received_date,
    notifications.topic,
    -- what it is about
    any_value(notifications.kind) as kind, -- a topic is of one kind
    -- counts
    count(*) as webhook_count,
    count(distinct notifications.id) as id_count,
    count(distinct notifications.id) filter (
        where states.last_checked_at >= notifications.received_at
    ) as fetched_id_count,
    -- times
    min(notifications.received_at) as first_received_at,
    max(notifications.received_at) as last_received_at,
from notifications
left join states on notifications.kind = states.kind and notifications.id = states.id
group by notifications.received_date, notifications.topic
