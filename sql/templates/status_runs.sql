-- One row per run of versions in which a record at $place has the same status, and is the same: $record.
with records as (
    select *, $record as record, from ($select) as listed
),
-- most orders have one version: no window for those
changed as (select order_id, from core.order_versions where version_no = 2),
marked as (
    select
        *,
        lag(version_no) over in_order is distinct from version_no - 1
        or status is distinct from lag(status) over in_order
        or record is distinct from lag(record) over in_order as starts,
    from records
    semi join changed using (order_id)
    window in_order as (partition by $place order by version_no)
),
numbered as (
    select
        *,
        count(*) filter (where starts) over (
            partition by $place order by version_no rows unbounded preceding
        ) as observation_no,
    from marked
),
runs as (
    select
        $place, observation_no,
        any_value(record) as record, -- equal in a run
        any_value(status) as status, -- equal in a run
        first(first_seen_at order by version_no) as first_seen_at,
        max(last_seen_at) as last_seen_at,
    from numbered group by $place, observation_no
)

select
    $place,
    1 as observation_no,
    $named
    -- what was seen
    status, first_seen_at, last_seen_at,
    -- what was seen before: the change lies between the two times
    cast(null as varchar) as previous_status, cast(null as timestamp with time zone) as previous_last_seen_at,
    false as is_change,
from records
anti join changed using (order_id)
union all
select
    $place,
    observation_no,
    $named
    status, first_seen_at, last_seen_at,
    -- another record in the same place has no past
    if(record is not distinct from lag(record) over in_order, lag(status) over in_order, null) as previous_status,
    if(
        record is not distinct from lag(record) over in_order, lag(last_seen_at) over in_order, null
    ) as previous_last_seen_at,
    observation_no > 1
    and record is not distinct from lag(record) over in_order
    and status is distinct from lag(status) over in_order as is_change,
from runs
window in_order as (partition by $place order by observation_no)
