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

orders as (
    select
        orders.business_date,
        orders.order_id,
        orders.status,
        orders.platform,
        orders.dispatch_method,
        orders._fetched_at,
        -- what hardly ever changes is as old as the order, not as its latest version
        if(grown.order_id is null, orders._fetched_at, grown.first_seen_at)
            as first_fetched_at,
    from mart.orders as orders
    left join grown on orders.order_id = grown.order_id
),

-- statuses do change: those that later ones took the place of, too
passed as (
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
        count(*) as times,
    from core.order_line_modifiers
    where action is not null
    group by order_id, action
),

types as (
    select
        order_id,
        type as value,
        count(*) as times,
    from core.order_deliveries
    where type is not null
    group by order_id, type
),

statuses as (
    select
        order_id,
        status as value,
        count(*) as times,
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
        1 as times,
        true as is_now,
        _fetched_at as seen_at,
    from orders

    union all

    select
        business_date,
        order_id,
        '/platform' as path,
        platform as value,
        1 as times,
        true as is_now,
        first_fetched_at as seen_at,
    from orders

    union all

    select
        business_date,
        order_id,
        '/dispatch_method' as path,
        dispatch_method as value,
        1 as times,
        true as is_now,
        first_fetched_at as seen_at,
    from orders

    union all

    select
        orders.business_date,
        orders.order_id,
        '/items/*/modifiers/*/action' as path,
        actions.value,
        actions.times,
        true as is_now,
        orders.first_fetched_at as seen_at,
    from actions
    inner join orders on actions.order_id = orders.order_id

    union all

    select
        orders.business_date,
        orders.order_id,
        '/deliveries/*/type' as path,
        types.value,
        types.times,
        true as is_now,
        orders.first_fetched_at as seen_at,
    from types
    inner join orders on types.order_id = orders.order_id

    union all

    select
        orders.business_date,
        orders.order_id,
        '/deliveries/*/status' as path,
        statuses.value,
        statuses.times,
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
        0 as times,
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
    count(*) filter (where is_now) as documents,
    cast(sum(times) as bigint) as times,
    min(seen_at) as first_seen_at,
    max(seen_at) as last_seen_at,
    bool_or(seen_at is null) as is_of_unknown_time,
    min(order_id) as example_id,
from used
where value is not null
group by business_date, path, value
