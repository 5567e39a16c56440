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
select
    cast(hints.received_at at time zone 'UTC' as date) as received_date,
    hints.topic,
    -- what it is about
    any_value(hints.kind) as kind, -- a topic is of one kind
    -- counts
    count(*) as webhook_count,
    count(distinct hints.id) as id_count,
    count(distinct hints.id) filter (where states.last_checked_at >= hints.received_at)
        as fetched_id_count,
    -- times
    min(hints.received_at) as first_received_at,
    max(hints.received_at) as last_received_at,
from raw.hints as hints
left join raw.states as states on hints.kind = states.kind and hints.id = states.id
group by received_date, hints.topic
