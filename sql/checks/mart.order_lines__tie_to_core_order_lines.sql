-- mart.order_lines has every line of core.order_lines once, with the keys of its order.
-- severity: blocking
select
    coalesce(core_lines.order_id, mart_lines.order_id) as entity_id,
    'line ' || coalesce(core_lines.line_no, mart_lines.line_no) as location,
    case
        when mart_lines.order_id is null then 'missing'
        when core_lines.order_id is null then 'not in core.order_lines'
        else 'differs'
    end as detail,
from core.order_lines as core_lines
full join mart.order_lines as mart_lines
    on core_lines.order_id = mart_lines.order_id
    and core_lines.line_no = mart_lines.line_no
where
    core_lines.order_id is null
    or mart_lines.order_id is null
    or core_lines.product_id is distinct from mart_lines.product_id
    or core_lines.quantity is distinct from mart_lines.quantity

union -- not all: a line that differs both ways is one

select
    lines.order_id as entity_id,
    'line ' || lines.line_no as location,
    'differs' as detail,
from mart.order_lines as lines
left join mart.orders as orders on lines.order_id = orders.order_id
where
    orders.store_id is distinct from lines.store_id
    or orders.business_date is distinct from lines.business_date
    or orders.sale_class is distinct from lines.sale_class
    or orders.currency is distinct from lines.currency
