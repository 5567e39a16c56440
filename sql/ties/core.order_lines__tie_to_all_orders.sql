-- Over all orders, core.order_lines has the lines and units that mart.orders counts.
-- severity: blocking
-- scope: all
with

-- order_ids: an order counts once a line on both sides; coalesce: no rows add nothing
both_sides as (
    select
        count(*) as lines,
        coalesce(cast(sum(order_id) as decimal(38, 0)), 0) as order_ids,
        coalesce(cast(sum(quantity) as decimal(38, 0)), 0) as units,
    from core.order_lines

    union all

    select
        -coalesce(sum(lines), 0) as lines,
        -coalesce(cast(sum(cast(order_id as hugeint) * lines) as decimal(38, 0)), 0)
            as order_ids,
        -coalesce(sum(units), 0) as units,
    from mart.orders
),

differences as (
    select
        sum(lines) as lines,
        sum(units) as units,
        sum(lines) <> 0
        or sum(order_ids) <> 0
        or sum(units) <> 0 as is_off,
    from both_sides
)

select
    cast(null as bigint) as entity_id,
    'all orders' as location,
    lines || ' lines, ' || units || ' units' as detail,
from differences
where is_off
