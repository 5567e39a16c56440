-- Over all orders, core.order_lines has the lines and units that mart.orders counts.
-- severity: blocking
-- scope: all
with

-- order_ids: an order counts once a line on both sides; coalesce: no rows add nothing
both_sides as (
    select
        count(*) as line_count,
        coalesce(cast(sum(order_id) as decimal(38, 0)), 0) as order_ids,
        coalesce(cast(sum(quantity) as decimal(38, 0)), 0) as unit_count,
    from core.order_lines

    union all

    select
        -coalesce(sum(line_count), 0) as line_count,
        -coalesce(cast(sum(cast(order_id as hugeint) * line_count) as decimal(38, 0)), 0)
            as order_ids,
        -coalesce(sum(unit_count), 0) as unit_count,
    from mart.orders
)

select
    cast(null as bigint) as entity_id,
    'all orders' as location,
    sum(line_count) || ' lines, ' || sum(unit_count) || ' units' as detail,
from both_sides
having sum(line_count) <> 0 or sum(order_ids) <> 0 or sum(unit_count) <> 0
