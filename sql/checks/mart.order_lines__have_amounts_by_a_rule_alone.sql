-- A line has an amount only where a subtotal rule is in force, and else says what lacks.
-- severity: blocking
select
    lines.order_id as entity_id,
    'line ' || lines.line_no as place,
    lines.line_amount as residual,
from mart.order_lines as lines
left join audit.order_rules as rules on lines.order_id = rules.order_id
where
    (lines.line_amount is not null and rules.subtotal_rule is null)
    or (lines.line_amount is null) <> (lines.amount_lacks is not null)
