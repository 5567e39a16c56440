-- One row per business day, coded field of the order document, and value that it has.
with

orders as (
    select
        business_date,
        order_id,
        status,
        platform,
        dispatch_method,
        _fetched_at,
    from mart.orders
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
        _fetched_at,
    from orders

    union all

    select
        business_date,
        order_id,
        '/platform' as path,
        platform as value,
        1 as times,
        _fetched_at,
    from orders

    union all

    select
        business_date,
        order_id,
        '/dispatch_method' as path,
        dispatch_method as value,
        1 as times,
        _fetched_at,
    from orders

    union all

    select
        orders.business_date,
        orders.order_id,
        '/items/*/modifiers/*/action' as path,
        actions.value,
        actions.times,
        orders._fetched_at,
    from actions
    inner join orders on actions.order_id = orders.order_id

    union all

    select
        orders.business_date,
        orders.order_id,
        '/deliveries/*/type' as path,
        types.value,
        types.times,
        orders._fetched_at,
    from types
    inner join orders on types.order_id = orders.order_id

    union all

    select
        orders.business_date,
        orders.order_id,
        '/deliveries/*/status' as path,
        statuses.value,
        statuses.times,
        orders._fetched_at,
    from statuses
    inner join orders on statuses.order_id = orders.order_id
)

select
    -- keys
    business_date,
    path,
    value,
    -- how often
    count(*) as documents,
    cast(sum(times) as bigint) as times,
    min(_fetched_at) as first_seen_at,
    max(_fetched_at) as last_seen_at,
    min(order_id) as example_id,
from used
where value is not null
group by business_date, path, value
