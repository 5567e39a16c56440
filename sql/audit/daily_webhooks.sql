-- One row per day and topic: webhook notifications that named an id.
--
-- Source: the inbox. Undecodable deliveries are not here: `ordermart webhooks undecodable` lists them.
-- Caveats: days are UTC; a day disappears when its deliveries are pruned ([webhooks] retention_days). A notification
-- carries no data: the document it names is fetched. A delivery that never arrived leaves no trace here.
--
-- key: received_date, topic
--
-- received_date DATE: The day they were received, UTC.
-- topic VARCHAR: The topic, such as orders.update.
-- webhook_count BIGINT >= 1: Notifications that named an id.
-- id_count >= 1: Distinct ids named.
-- fetched_id_count BIGINT >= 0: Ids answered after such a notification, found or not.
-- first_received_at TIMESTAMPTZ: When the first was received.
-- last_received_at TIMESTAMPTZ: When the last was received.
with notifications as (
    select
        cast(received_at at time zone 'UTC' as date) as received_date,
        topic, kind, id, received_at,
    from raw.hints
),

states as (
    select kind, id, last_checked_at, from raw.states
)

select
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
