-- Over all orders, mart.order_lines has the lines, units and products of core.order_lines.
-- severity: blocking
-- scope: all
with

-- coalesce: what no line states adds nothing on either side
both_sides as (
    select
        count(*) as lines,
        coalesce(sum(order_id), 0) as order_ids,
        coalesce(sum(product_id), 0) as product_ids,
        coalesce(sum(quantity), 0) as units,
    from mart.order_lines

    union all

    select
        -count(*) as lines,
        -coalesce(sum(order_id), 0) as order_ids,
        -coalesce(sum(product_id), 0) as product_ids,
        -coalesce(sum(quantity), 0) as units,
    from core.order_lines
),

differences as (
    select
        sum(lines) as lines,
        sum(units) as units,
        sum(lines) <> 0
        or sum(order_ids) <> 0
        or sum(product_ids) <> 0
        or sum(units) <> 0 as is_off,
    from both_sides
)

select
    cast(null as bigint) as entity_id,
    'all orders' as location,
    lines || ' lines, ' || units || ' units' as detail,
from differences
where is_off
