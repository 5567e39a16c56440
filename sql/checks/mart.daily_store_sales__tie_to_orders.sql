-- Daily counts and amounts equal those of mart.orders.
-- severity: blocking
with

-- coalesce: a field that no order states adds nothing on either side
both_sides as (
    select
        store_id,
        business_date,
        sale_class,
        order_count,
        line_count,
        coalesce(unit_count, 0) as unit_count,
        coalesce(subtotal_price, 0) as subtotal_price,
        coalesce(delivery_price, 0) as delivery_price,
        coalesce(tip, 0) as tip,
        coalesce(discount, 0) as discount,
        coalesce(loyalty_discount, 0) as loyalty_discount,
        coalesce(total_price, 0) as total_price,
    from mart.daily_store_sales

    union all

    select
        store_id,
        business_date,
        sale_class,
        -count(*) as order_count,
        -sum(line_count) as line_count,
        -coalesce(sum(unit_count), 0) as unit_count,
        -coalesce(sum(subtotal_price), 0) as subtotal_price,
        -coalesce(sum(delivery_price), 0) as delivery_price,
        -coalesce(sum(tip), 0) as tip,
        -coalesce(sum(discount), 0) as discount,
        -coalesce(sum(loyalty_discount), 0) as loyalty_discount,
        -coalesce(sum(total_price), 0) as total_price,
    from mart.orders
    group by store_id, business_date, sale_class
),

differences as (
    select
        store_id,
        business_date,
        sale_class,
        sum(order_count) as order_count,
        sum(line_count) as line_count,
        sum(unit_count) as unit_count,
        sum(total_price) as total_price,
        sum(order_count) <> 0
        or sum(line_count) <> 0
        or sum(unit_count) <> 0
        or sum(subtotal_price) <> 0
        or sum(delivery_price) <> 0
        or sum(tip) <> 0
        or sum(discount) <> 0
        or sum(loyalty_discount) <> 0
        or sum(total_price) <> 0 as is_different,
    from both_sides
    group by store_id, business_date, sale_class
)

select
    store_id as entity_id,
    coalesce(cast(business_date as varchar), 'no day') || ', ' || sale_class as location,
    total_price as residual,
    order_count || ' orders, ' || line_count || ' lines, ' || unit_count
        || ' units too many' as detail,
from differences
where is_different
