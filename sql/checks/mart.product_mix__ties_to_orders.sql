-- Per store, business day and sale class, lines and units are those of mart.orders.
-- severity: blocking
-- Read from mart.daily_store_sales, which is held to mart.orders by a claim of its own.
with

-- coalesce: quantities that no line states add nothing on either side
both_sides as (
    select
        store_id,
        business_date,
        sale_class,
        lines,
        coalesce(units, 0) as units,
    from mart.product_mix

    union all

    select
        store_id,
        business_date,
        sale_class,
        -lines as lines,
        -coalesce(units, 0) as units,
    from mart.daily_store_sales
),

differences as (
    select
        store_id,
        business_date,
        sale_class,
        sum(lines) as lines,
        sum(units) as units,
    from both_sides
    group by store_id, business_date, sale_class
)

select
    store_id as entity_id,
    coalesce(cast(business_date as varchar), 'no day') || ', ' || sale_class as location,
    lines || ' lines, ' || units || ' units off' as detail,
from differences
where lines <> 0 or units <> 0
