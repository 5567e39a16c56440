-- Per store, business day and sale class, counts and money are those of mart.orders.
-- severity: blocking
with

-- coalesce: a part that no order states adds nothing on either side
both_sides as (
    select
        store_id,
        business_date,
        sale_class,
        orders,
        lines,
        coalesce(units, 0) as units,
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
        -count(*) as orders,
        -sum(lines) as lines,
        -coalesce(sum(units), 0) as units,
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
        sum(orders) as orders,
        sum(lines) as lines,
        sum(units) as units,
        sum(total_price) as total_price,
        sum(orders) <> 0
        or sum(lines) <> 0
        or sum(units) <> 0
        or sum(subtotal_price) <> 0
        or sum(delivery_price) <> 0
        or sum(tip) <> 0
        or sum(discount) <> 0
        or sum(loyalty_discount) <> 0
        or sum(total_price) <> 0 as is_off,
    from both_sides
    group by store_id, business_date, sale_class
)

select
    store_id as entity_id,
    coalesce(cast(business_date as varchar), 'no day') || ', ' || sale_class as location,
    total_price as residual,
    orders || ' orders, ' || lines || ' lines, ' || units || ' units off' as detail,
from differences
where is_off
