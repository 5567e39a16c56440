-- Every modifier of an order belongs to a line.
-- severity: blocking
select
    modifiers.order_id as entity_id,
    'line ' || modifiers.line_no || ', modifier ' || modifiers.modifier_no as location,
from core.order_line_modifiers as modifiers
anti join core.order_lines as lines using (order_id, line_no)
