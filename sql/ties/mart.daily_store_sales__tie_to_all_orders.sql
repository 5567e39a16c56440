-- Over all days, by day, class and currency, daily sales are those of mart.orders.
-- severity: blocking
-- scope: all
with

-- coalesce: an amount that no order states adds nothing on either side
both_sides as (
    select
        business_date,
        sale_class,
        currency,
        sum(order_count) as order_count,
        cast(sum(cast(store_id as hugeint) * order_count) as decimal(38, 0)) as store_ids,
        sum(line_count) as line_count,
        coalesce(sum(unit_count), 0) as unit_count,
        coalesce(sum(subtotal_price), 0) as subtotal_price,
        coalesce(sum(delivery_price), 0) as delivery_price,
        coalesce(sum(tip), 0) as tip,
        coalesce(sum(discount), 0) as discount,
        coalesce(sum(loyalty_discount), 0) as loyalty_discount,
        coalesce(sum(total_price), 0) as total_price,
    from mart.daily_store_sales
    group by business_date, sale_class, currency

    union all

    select
        business_date,
        sale_class,
        currency,
        -count(*) as order_count,
        -cast(sum(store_id) as decimal(38, 0)) as store_ids,
        -sum(line_count) as line_count,
        -coalesce(sum(unit_count), 0) as unit_count,
        -coalesce(sum(subtotal_price), 0) as subtotal_price,
        -coalesce(sum(delivery_price), 0) as delivery_price,
        -coalesce(sum(tip), 0) as tip,
        -coalesce(sum(discount), 0) as discount,
        -coalesce(sum(loyalty_discount), 0) as loyalty_discount,
        -coalesce(sum(total_price), 0) as total_price,
    from mart.orders
    group by business_date, sale_class, currency
),

differences as (
    select
        business_date,
        sale_class,
        currency,
        sum(order_count) as order_count,
        sum(total_price) as total_price,
        sum(order_count) <> 0
        or sum(store_ids) <> 0
        or sum(line_count) <> 0
        or sum(unit_count) <> 0
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
