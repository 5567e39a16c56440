-- Counts and amounts by store, day and class equal those of mart.daily_store_sales.
-- severity: blocking
with

-- coalesce: a quantity that no order states adds nothing on either side
both_sides as (
    select
        store_id,
        business_date,
        sale_class,
        sum(order_count) as order_count,
        sum(line_count) as line_count,
        coalesce(sum(unit_count), 0) as unit_count,
        stated_sums(
            1, subtotal_price, delivery_price, tip, discount, loyalty_discount, total_price
        ) as sums,
    from $table
    group by store_id, business_date, sale_class

    union all

    select
        store_id,
        business_date,
        sale_class,
        -sum(order_count) as order_count,
        -sum(line_count) as line_count,
        -coalesce(sum(unit_count), 0) as unit_count,
        stated_sums(
            -1, subtotal_price, delivery_price, tip, discount, loyalty_discount, total_price
        ) as sums,
    from mart.daily_store_sales
    group by store_id, business_date, sale_class
)

select
    store_id as entity_id,
    coalesce(cast(business_date as varchar), 'no day') || ', ' || sale_class as location,
    sum(sums[6]) as residual,
    sum(order_count) || ' orders too many' as detail,
from both_sides
group by store_id, business_date, sale_class
having
    sum(order_count) <> 0
    or sum(line_count) <> 0
    or sum(unit_count) <> 0
    or sums_differ(sums)
