-- One row per position of a delivery record in an order, and run of versions with the same id and status.
--
-- Source: core.order_versions.
-- Caveats: records are identified by position, since their ids are not promised to be unique: when a position has
-- another id, a new record begins. Times are as in core.order_status_observations.
--
-- key: order_id, delivery_no, observation_no
-- scope: order
--
-- observation_no: The run's place among those of the same place, from 1.
-- status: The delivery's status, as sent (observed: confirmed).
-- previous_status: The status of the same record in the run before; null where there is none, and where it was null.
-- is_change: Whether the same record was seen with another status in the run before.
with records as (
    select
        order_id, version_no,
        generate_subscripts(delivery_statuses, 1) as delivery_no,
        unnest(delivery_ids) as delivery_id,
        unnest(delivery_statuses) as status,
        first_seen_at, last_seen_at,
    from core.order_versions
),

-- most orders have one version: no window for those
changed as (
    select order_id, from core.order_versions where version_no = 2
),

marked as (
    select
        *,
        lag(version_no) over in_order is distinct from version_no - 1
        or status is distinct from lag(status) over in_order
        or delivery_id is distinct from lag(delivery_id) over in_order as starts,
    from records
    semi join changed using (order_id)
    window in_order as (partition by order_id, delivery_no order by version_no)
),

numbered as (
    select
        *,
        count(*) filter (where starts) over (
            partition by order_id, delivery_no
            order by version_no rows unbounded preceding
        ) as observation_no,
    from marked
),

runs as (
    select
        order_id, delivery_no, observation_no,
        any_value(delivery_id) as delivery_id, -- equal in a run
        any_value(status) as status, -- equal in a run
        first(first_seen_at order by version_no) as first_seen_at,
        max(last_seen_at) as last_seen_at,
    from numbered
    group by order_id, delivery_no, observation_no
)

select
    order_id,
    delivery_no,
    1 as observation_no,
    delivery_id,
    -- what was seen
    status,
    first_seen_at,
    last_seen_at,
    -- what was seen before: the change lies between the two times
    cast(null as varchar) as previous_status,
    cast(null as timestamp with time zone) as previous_last_seen_at,
    false as is_change,
from records
anti join changed using (order_id)

union all

select
    order_id,
    delivery_no,
    observation_no,
    delivery_id,
    status,
    first_seen_at,
    last_seen_at,
    -- another record in the same place has no past
    if(
        delivery_id is not distinct from lag(delivery_id) over in_order,
        lag(status) over in_order,
        null
    ) as previous_status,
    if(
        delivery_id is not distinct from lag(delivery_id) over in_order,
        lag(last_seen_at) over in_order,
        null
    ) as previous_last_seen_at,
    observation_no > 1
    and delivery_id is not distinct from lag(delivery_id) over in_order
    and status is distinct from lag(status) over in_order as is_change,
from runs
window in_order as (partition by order_id, delivery_no order by observation_no)
