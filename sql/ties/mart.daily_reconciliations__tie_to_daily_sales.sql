-- Over all days, by day, class and currency, orders and amounts are those of daily sales.
-- severity: blocking
-- scope: all
with

-- coalesce: an amount that no order states adds nothing on either side
both_sides as (
    select
        business_date,
        sale_class,
        currency,
        order_count,
        coalesce(subtotal_price, 0) as subtotal_price,
        coalesce(delivery_price, 0) as delivery_price,
        coalesce(tip, 0) as tip,
        coalesce(discount, 0) as discount,
        coalesce(loyalty_discount, 0) as loyalty_discount,
        coalesce(total_price, 0) as total_price,
    from mart.daily_reconciliations

    union all

    select
        business_date,
        sale_class,
        currency,
        -order_count as order_count,
        -coalesce(subtotal_price, 0) as subtotal_price,
        -coalesce(delivery_price, 0) as delivery_price,
        -coalesce(tip, 0) as tip,
        -coalesce(discount, 0) as discount,
        -coalesce(loyalty_discount, 0) as loyalty_discount,
        -coalesce(total_price, 0) as total_price,
    from mart.daily_store_sales
),

differences as (
    select
        business_date,
        sale_class,
        currency,
        sum(order_count) as order_count,
        sum(total_price) as total_price,
        sum(order_count) <> 0
        or sum(subtotal_price) <> 0
        or sum(delivery_price) <> 0
        or sum(tip) <> 0
        or sum(discount) <> 0
        or sum(loyalty_discount) <> 0
        or sum(total_price) <> 0 as is_off,
    from both_sides
    group by business_date, sale_class, currency
)

select
    cast(null as bigint) as entity_id,
    concat_ws(', ', coalesce(cast(business_date as varchar), 'no day'), sale_class, currency)
        as location,
    total_price as residual,
    order_count || ' orders' as detail,
from differences
where is_off
