-- Line and unit counts by store, day and sale class equal those of mart.orders.
-- severity: blocking
-- Reads mart.daily_store_sales, which another check ties to mart.orders.
with

-- coalesce: an unstated quantity adds nothing on either side
both_sides as (
    select
        store_id,
        business_date,
        sale_class,
        line_count,
        coalesce(unit_count, 0) as unit_count,
    from mart.product_mix

    union all

    select
        store_id,
        business_date,
        sale_class,
        -line_count as line_count,
        -coalesce(unit_count, 0) as unit_count,
    from mart.daily_store_sales
)

select
    store_id as entity_id,
    coalesce(cast(business_date as varchar), 'no day') || ', ' || sale_class as location,
    sum(line_count) || ' lines, ' || sum(unit_count) || ' units too many' as detail,
from both_sides
group by store_id, business_date, sale_class
having sum(line_count) <> 0 or sum(unit_count) <> 0
