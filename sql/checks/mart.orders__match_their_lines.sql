-- An order's lines and units are those of its lines.
-- severity: blocking
with

contents as (
    select
        order_id,
        count(*) as lines,
        sum(quantity) as units,
    from core.order_lines
    group by order_id
)

-- coalesce: an order without lines has 0 of both
select
    orders.order_id as entity_id,
    'lines' as location,
from mart.orders as orders
left join contents on orders.order_id = contents.order_id
where
    orders.lines <> coalesce(contents.lines, 0)
    or orders.units is distinct from if(contents.order_id is null, 0, contents.units)
