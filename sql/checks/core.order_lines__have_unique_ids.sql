-- No two lines of an order have the same id.
-- severity: warning
with repeated as (
    select order_id, line_id,
    from core.order_lines
    where line_id is not null
    group by order_id, line_id
    having count(*) > 1
)

select
    lines.order_id as entity_id,
    'line ' || lines.line_no as location,
    'line id ' || lines.line_id as detail,
from core.order_lines as lines
semi join repeated using (order_id, line_id)
