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
),

differences as (
    select
        store_id,
        business_date,
        sale_class,
        sum(line_count) as line_count,
        sum(unit_count) as unit_count,
    from both_sides
    group by store_id, business_date, sale_class
)

select
    store_id as entity_id,
    coalesce(cast(business_date as varchar), 'no day') || ', ' || sale_class as location,
    line_count || ' lines, ' || unit_count || ' units too many' as detail,
from differences
where line_count <> 0 or unit_count <> 0
