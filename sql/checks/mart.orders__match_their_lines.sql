-- An order's line and unit counts equal those of its lines.
-- severity: blocking
with contents as (
    select order_id, count(*) as line_count, sum(quantity) as unit_count,
    from core.order_lines group by order_id
)

-- coalesce: an order without lines has 0 of both
select
    orders.order_id as entity_id, 'line_count' as location,
from mart.orders as orders
left join contents using (order_id)
where
    orders.line_count <> coalesce(contents.line_count, 0)
    or orders.unit_count is distinct from if(contents.order_id is null, 0, contents.unit_count)
