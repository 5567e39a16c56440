-- One row per business day, coded field of the order document, and value that it has.
with

-- orders of several versions, and when the first was seen
grown as (
    select
        order_id,
        min(first_seen_at) filter (where version_no = 1) as first_seen_at,
    from core.order_versions
    group by order_id
    having count(*) > 1
),

-- each value that a changed field of the order had, and when a version brought it
changes as (
    select
        changes.order_id,
        '/' || changes.field as path,
        changes.version_no,
        changes.old_value,
        changes.new_value,
        versions.first_seen_at,
    from core.order_changes as changes
    inner join core.order_versions as versions
        on changes.order_id = versions.order_id
        and changes.version_no = versions.version_no
    where changes.field in ('platform', 'dispatch_method')
),

came as (
    select
        order_id,
        path,
        version_no,
        new_value as value,
        first_seen_at,
    from changes

    union all

    -- what the first version had
    select
        changes.order_id,
        changes.path,
        1 as version_no,
        changes.old_value as value,
        grown.first_seen_at,
    from changes
    inner join grown on changes.order_id = grown.order_id
    qualify row_number() over (
        partition by changes.order_id, changes.path order by changes.version_no
    ) = 1
),

came_last as (
    select
        order_id,
        path,
        first_seen_at,
    from came
    qualify row_number() over (
        partition by order_id, path order by version_no desc
    ) = 1
),

orders as (
    select
        orders.business_date,
        orders.order_id,
        orders.status,
        orders.platform,
        orders.dispatch_method,
        orders._fetched_at,
        -- what never changed is as old as the order, not as its latest version
        if(grown.order_id is null, orders._fetched_at, grown.first_seen_at)
            as first_fetched_at,
    from mart.orders as orders
    left join grown on orders.order_id = grown.order_id
),

-- the lines of orders whose items changed, and when each of them was first seen
lines_came as (
    select
        order_id,
        lines_version_no,
        first(first_seen_at order by version_no) as first_seen_at,
    from core.order_versions
    semi join core.order_line_modifier_versions using (order_id)
    group by order_id, lines_version_no
),

actions_met as (
    select
        order_id,
        action as value,
        min(lines_version_no) as lines_version_no,
    from core.order_line_modifier_versions
    where action is not null
    group by order_id, action
),

actions_came as (
    select
        met.order_id,
        met.value,
        lines.first_seen_at,
    from actions_met as met
    inner join lines_came as lines
        on met.order_id = lines.order_id
        and met.lines_version_no = lines.lines_version_no
),

delivered as (
    select
        order_id,
        version_no,
        first_seen_at,
        unnest(delivery_types) as value,
    from core.order_versions
    semi join grown using (order_id)
),

types_came as (
    select
        order_id,
        value,
        first(first_seen_at order by version_no) as first_seen_at,
    from delivered
    where value is not null
    group by order_id, value
),

-- what later versions took the place of is kept, too
passed as (
    select
        order_id,
        path,
        value,
        first_seen_at,
    from came

    union all

    select
        order_id,
        '/items/*/modifiers/*/action' as path,
        value,
        first_seen_at,
    from actions_came

    union all

    select
        order_id,
        '/deliveries/*/type' as path,
        value,
        first_seen_at,
    from types_came

    union all

    select
        order_id,
        '/status' as path,
        status as value,
        first_seen_at,
    from core.order_status_observations
    semi join grown using (order_id)

    union all

    select
        order_id,
        '/deliveries/*/status' as path,
        status as value,
        first_seen_at,
    from core.delivery_status_observations
    semi join grown using (order_id)
),

-- first per order, so that the joins are of as many rows as there are orders
actions as (
    select
        order_id,
        action as value,
        count(*) as occurrence_count,
    from core.order_line_modifiers
    where action is not null
    group by order_id, action
),

types as (
    select
        order_id,
        type as value,
        count(*) as occurrence_count,
    from core.order_deliveries
    where type is not null
    group by order_id, type
),

statuses as (
    select
        order_id,
        status as value,
        count(*) as occurrence_count,
    from core.order_deliveries
    where status is not null
    group by order_id, status
),

used as (
    select
        business_date,
        order_id,
        '/status' as path,
        status as value,
        1 as occurrence_count,
        true as is_now,
        _fetched_at as seen_at,
    from orders

    union all

    select
        orders.business_date,
        orders.order_id,
        '/platform' as path,
        orders.platform as value,
        1 as occurrence_count,
        true as is_now,
        if(came.order_id is null, orders.first_fetched_at, came.first_seen_at)
            as seen_at,
    from orders
    left join came_last as came
        on orders.order_id = came.order_id
        and came.path = '/platform'

    union all

    select
        orders.business_date,
        orders.order_id,
        '/dispatch_method' as path,
        orders.dispatch_method as value,
        1 as occurrence_count,
        true as is_now,
        if(came.order_id is null, orders.first_fetched_at, came.first_seen_at)
            as seen_at,
    from orders
    left join came_last as came
        on orders.order_id = came.order_id
        and came.path = '/dispatch_method'

    union all

    select
        orders.business_date,
        orders.order_id,
        '/items/*/modifiers/*/action' as path,
        actions.value,
        actions.occurrence_count,
        true as is_now,
        if(came.order_id is null, orders.first_fetched_at, came.first_seen_at)
            as seen_at,
    from actions
    inner join orders on actions.order_id = orders.order_id
    left join actions_came as came
        on actions.order_id = came.order_id
        and actions.value = came.value

    union all

    select
        orders.business_date,
        orders.order_id,
        '/deliveries/*/type' as path,
        types.value,
        types.occurrence_count,
        true as is_now,
        if(came.order_id is null, orders.first_fetched_at, came.first_seen_at)
            as seen_at,
    from types
    inner join orders on types.order_id = orders.order_id
    left join types_came as came
        on types.order_id = came.order_id
        and types.value = came.value

    union all

    select
        orders.business_date,
        orders.order_id,
        '/deliveries/*/status' as path,
        statuses.value,
        statuses.occurrence_count,
        true as is_now,
        orders._fetched_at as seen_at,
    from statuses
    inner join orders on statuses.order_id = orders.order_id

    union all

    select
        orders.business_date,
        passed.order_id,
        passed.path,
        passed.value,
        0 as occurrence_count,
        false as is_now,
        passed.first_seen_at as seen_at,
    from passed
    inner join orders on passed.order_id = orders.order_id
)

select
    -- keys
    business_date,
    path,
    value,
    -- how often
    count(*) filter (where is_now) as document_count,
    cast(sum(occurrence_count) as bigint) as occurrence_count,
    min(seen_at) as first_seen_at,
    max(seen_at) as last_seen_at,
    bool_or(seen_at is null) as is_of_unknown_time,
    min(order_id) as example_id,
from used
where value is not null
group by business_date, path, value
