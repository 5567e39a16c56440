-- One row per order status and currency: what orders with it look like.
with

orders as (
    select
        status,
        currency,
        any_value(sale_class) as sale_class,
        cast(sum(orders) as bigint) as orders,
        cast(sum(deleted_count) as bigint) as deleted_count,
        cast(sum(zero_total_count) as bigint) as zero_total_count,
        cast(sum(missing_total_count) as bigint) as missing_total_count,
        cast(sum(subtotal_price) as decimal(38, 4)) as subtotal_price,
        cast(sum(total_price) as decimal(38, 4)) as total_price,
        min(first_created_at) as first_created_at,
        max(last_created_at) as last_created_at,
        cast(sum(week_old_count) as bigint) as week_old_count,
    from audit.daily_statuses
    group by status, currency
),

ages as (
    select
        status,
        currency,
        age_hours,
        sum(orders) as orders,
    from (
        select
            status,
            currency,
            unnest(ages) as age_hours,
            unnest(orders_by_age) as orders,
        from audit.daily_statuses
    ) as aged
    group by status, currency, age_hours
),

counted as (
    select
        status,
        currency,
        age_hours,
        sum(orders) over (
            partition by status, currency order by age_hours
        ) as so_far,
        sum(orders) over (partition by status, currency) as in_all,
    from ages
),

medians as (
    select
        status,
        currency,
        min(age_hours) as median_age_hours,
    from counted
    where 2 * so_far >= in_all
    group by status, currency
),

left_behind as (
    select
        previous_status as status,
        cast(sum(times) as bigint) as transitioned_count,
        list(coalesce(status, '(none)') || ': ' || times order by times desc, status)
            as next_statuses,
    from audit.status_transitions
    where entity_type = 'order'
    group by previous_status
),

classes as (
    select
        status,
        any_value(sale_class) as sale_class, -- a status has one
        sum(orders) as orders,
    from orders
    group by status
)

select
    -- keys
    coalesce(orders.status, left_behind.status) as status,
    orders.currency,
    -- how [sales] takes it
    classes.sale_class,
    -- orders as last observed; no row is no order
    coalesce(orders.orders, 0) as orders,
    coalesce(orders.deleted_count, 0) as deleted_count,
    coalesce(orders.zero_total_count, 0) as zero_total_count,
    coalesce(orders.missing_total_count, 0) as missing_total_count,
    -- money
    orders.subtotal_price,
    orders.total_price,
    -- age
    orders.first_created_at,
    orders.last_created_at,
    medians.median_age_hours,
    coalesce(orders.week_old_count, 0) as week_old_count,
    -- what became of orders in it
    coalesce(left_behind.transitioned_count, 0) as transitioned_count,
    -- each time that it was met it was left, or an order has it still
    coalesce(
        left_behind.transitioned_count / (left_behind.transitioned_count + coalesce(classes.orders, 0)), 0
    ) as transition_rate,
    coalesce(left_behind.next_statuses, []) as next_statuses,
from orders
full join left_behind on orders.status is not distinct from left_behind.status
left join classes on orders.status is not distinct from classes.status
    and orders.orders is not null
left join medians on orders.status is not distinct from medians.status
    and orders.currency is not distinct from medians.currency
    and orders.orders is not null
