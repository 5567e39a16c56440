-- One row per day and topic: how many deliveries of webhooks named an id, and how many of these were ever answered.
with

hints as (
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
    hints.received_date,
    hints.topic,
    -- what it is about
    any_value(hints.kind) as kind, -- a topic is of one kind
    -- counts
    count(*) as deliveries,
    count(distinct hints.id) as ids,
    count(distinct hints.id) filter (where states.last_checked_at >= hints.received_at) as fetched_id_count,
    -- times
    min(hints.received_at) as first_received_at,
    max(hints.received_at) as last_received_at,
from hints
left join states on hints.kind = states.kind and hints.id = states.id
group by hints.received_date, hints.topic
