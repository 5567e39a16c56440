-- Every order line belongs to an order.
-- severity: blocking
select
    lines.order_id as entity_id,
    'line ' || lines.line_no as location,
from core.order_lines as lines
anti join core.orders as orders using (order_id)
