-- Counts and amounts by store, day and class equal those of mart.daily_store_sales.
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
        coalesce(total_price, 0) as total_price,
        [
            coalesce(subtotal_price, 0),
            coalesce(delivery_price, 0),
            coalesce(tip, 0),
            coalesce(discount, 0),
            coalesce(loyalty_discount, 0),
        ] as parts,
    from $table

    union all

    select
        store_id,
        business_date,
        sale_class,
        -order_count,
        -line_count,
        -coalesce(unit_count, 0),
        -coalesce(total_price, 0),
        [
            -coalesce(subtotal_price, 0),
            -coalesce(delivery_price, 0),
            -coalesce(tip, 0),
            -coalesce(discount, 0),
            -coalesce(loyalty_discount, 0),
        ],
    from mart.daily_store_sales
),

differences as (
    select
        store_id,
        business_date,
        sale_class,
        sum(order_count) as order_count,
        sum(total_price) as total_price,
        sum(order_count) <> 0
        or sum(line_count) <> 0
        or sum(unit_count) <> 0
        or sum(total_price) <> 0
        or sum(parts[1]) <> 0
        or sum(parts[2]) <> 0
        or sum(parts[3]) <> 0
        or sum(parts[4]) <> 0
        or sum(parts[5]) <> 0 as is_different,
    from both_sides
    group by store_id, business_date, sale_class
)

select
    store_id as entity_id,
    coalesce(cast(business_date as varchar), 'no day') || ', ' || sale_class as location,
    total_price as residual,
    order_count || ' orders too many' as detail,
from differences
where is_different
