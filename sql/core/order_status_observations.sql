-- One row per run of versions of an order with the same status.
--
-- Source: core.order_versions.
-- Caveats: a status that came and went between two observations is not here, and the time of a change is known only to
-- lie between previous_last_seen_at and first_seen_at. Nothing is inferred beyond that.
--
-- key: order_id, observation_no
-- scope: order
--
-- observation_no: The run's place among those of the order, from 1.
-- previous_status: The status of the run before; null in the first run, and where it was null.
-- is_change: Whether another status was seen before: all runs but the first.
with versions as (
    select order_id, version_no, status, first_seen_at, last_seen_at,
    from core.order_versions
),

-- most orders have one version: no window for those
changed as (
    select order_id, from versions where version_no = 2
),

marked as (
    select
        *,
        version_no = 1 or status is distinct from lag(status) over in_order as starts,
    from versions
    semi join changed using (order_id)
    window in_order as (partition by order_id order by version_no)
),

numbered as (
    select
        *,
        count(*) filter (where starts) over (
            partition by order_id order by version_no rows unbounded preceding
        ) as observation_no,
    from marked
),

runs as (
    select
        order_id, observation_no,
        any_value(status) as status, -- equal in a run
        first(first_seen_at order by version_no) as first_seen_at,
        max(last_seen_at) as last_seen_at,
    from numbered
    group by order_id, observation_no
)

select
    order_id,
    observation_no,
    -- what was seen
    status,
    first_seen_at,
    last_seen_at,
    -- what was seen before: the change lies between the two times
    cast(null as varchar) as previous_status,
    cast(null as timestamp with time zone) as previous_last_seen_at,
    false as is_change,
from (select versions.*, 1 as observation_no, from versions anti join changed using (order_id))

union all

select
    order_id,
    observation_no,
    status,
    first_seen_at,
    last_seen_at,
    lag(status) over in_order as previous_status,
    lag(last_seen_at) over in_order as previous_last_seen_at,
    observation_no > 1 as is_change,
from runs
window in_order as (partition by order_id order by observation_no)
