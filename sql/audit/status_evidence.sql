-- One row per order status and currency: what orders with it look like.
with

orders as (
    select
        status,
        currency,
        count(*) as orders,
        count(*) filter (where is_gone) as gone_count,
        count(*) filter (where total_price = 0) as zero_count,
        count(*) filter (where total_price is null) as unstated_count,
        sum(subtotal_price) as subtotal_price,
        sum(total_price) as total_price,
        min(created_at) as first_created_at,
        max(created_at) as last_created_at,
        -- whole hours, so that the middle one is one that was measured
        quantile_disc(date_diff('hour', created_at, last_checked_at), 0.5)
            as median_age_hours,
        count(*) filter (where last_checked_at >= created_at + interval 7 day)
            as week_old_count,
    from mart.orders
    group by status, currency
),

left_behind as (
    select
        status_before as status,
        cast(sum(times) as bigint) as moved_on_count,
        list(coalesce(status, '(none)') || ': ' || times order by times desc, status)
            as moved_on_to,
    from audit.observed_transitions
    where status_of = 'order'
    group by status_before
),

classes as (
    select distinct
        status,
        sale_class,
    from mart.orders
    where sale_class <> 'gone'
)

select
    -- keys
    coalesce(orders.status, left_behind.status) as status,
    orders.currency,
    -- how [sales] takes it
    classes.sale_class,
    -- orders as last observed; no row is no order
    coalesce(orders.orders, 0) as orders,
    coalesce(orders.gone_count, 0) as gone_count,
    coalesce(orders.zero_count, 0) as zero_count,
    coalesce(orders.unstated_count, 0) as unstated_count,
    -- money
    orders.subtotal_price,
    orders.total_price,
    -- age
    orders.first_created_at,
    orders.last_created_at,
    cast(orders.median_age_hours as bigint) as median_age_hours,
    coalesce(orders.week_old_count, 0) as week_old_count,
    -- what became of orders in it
    coalesce(left_behind.moved_on_count, 0) as moved_on_count,
    coalesce(left_behind.moved_on_to, []) as moved_on_to,
from orders
full join left_behind on orders.status is not distinct from left_behind.status
left join classes on orders.status is not distinct from classes.status
    and orders.orders is not null
