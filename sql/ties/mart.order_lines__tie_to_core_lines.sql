-- Over all orders, mart.order_lines has the lines, units and products of core.order_lines.
-- severity: blocking
-- scope: all
with

-- coalesce: what no line states adds nothing on either side
both_sides as (
    select
        count(*) as line_count,
        coalesce(sum(order_id), 0) as order_ids,
        coalesce(sum(product_id), 0) as product_ids,
        coalesce(sum(quantity), 0) as unit_count,
    from mart.order_lines

    union all

    select
        -count(*) as line_count,
        -coalesce(sum(order_id), 0) as order_ids,
        -coalesce(sum(product_id), 0) as product_ids,
        -coalesce(sum(quantity), 0) as unit_count,
    from core.order_lines
)

select
    cast(null as bigint) as entity_id,
    'all orders' as location,
    sum(line_count) || ' lines, ' || sum(unit_count) || ' units' as detail,
from both_sides
having
    sum(line_count) <> 0
    or sum(order_ids) <> 0
    or sum(product_ids) <> 0
    or sum(unit_count) <> 0
