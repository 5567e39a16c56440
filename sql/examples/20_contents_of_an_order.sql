-- What are the lines, modifiers and deliveries of an order?
with

wanted as (
    select min(order_id) as order_id from core.orders -- or an order's id
),

modifiers as (
    select
        line_no,
        list(name order by modifier_no) as modifiers,
    from core.order_line_modifiers
    where order_id = (select order_id from wanted)
    group by line_no
),

deliveries as (
    select list(status order by delivery_no) as delivery_statuses,
    from core.order_deliveries
    where order_id = (select order_id from wanted)
)

select
    lines.order_id,
    lines.line_no,
    lines.name,
    lines.quantity,
    lines.price,
    modifiers.modifiers,
    deliveries.delivery_statuses,
from core.order_lines as lines
cross join deliveries
left join modifiers on lines.line_no = modifiers.line_no
where lines.order_id = (select order_id from wanted)
order by lines.line_no
