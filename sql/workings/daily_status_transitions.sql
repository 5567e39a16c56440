-- One row per business day of the orders, kind of status, and change of it that was observed.
--
-- Source: core.order_status_observations and core.delivery_status_observations.
-- Caveats: two statuses seen one after the other need not follow each other in the service: what lay between was not
-- seen. audit.status_transitions adds the days up.
--
-- key: business_date, entity_type, previous_status, status
-- scope: day
--
-- status: The status seen after; null where the service gave none.
-- first_seen_at: When such a transition was first seen; null if only archives of unknown time show it.
-- last_seen_at: When such a change was last seen; null likewise.
-- example_id: An order in which it was seen.
with changes as (
    select order_id, 'order' as entity_type, previous_status, status, first_seen_at,
    from core.order_status_observations where is_change
    union all
    select order_id, 'delivery' as entity_type, previous_status, status, first_seen_at,
    from core.delivery_status_observations where is_change
)

select
    orders.business_date, changes.entity_type, changes.previous_status, changes.status,
    count(*) as occurrence_count, min(changes.first_seen_at) as first_seen_at,
    max(changes.first_seen_at) as last_seen_at, min(changes.order_id) as example_id,
from changes
inner join mart.orders as orders using (order_id)
group by orders.business_date, changes.entity_type, changes.previous_status, changes.status
