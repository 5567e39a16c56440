-- A line has an amount only if a subtotal rule is in force, else a reason.
-- severity: blocking
with ruled as (select order_id from audit.order_rules where line_rule is not null)

select
    order_id as entity_id,
    'line ' || line_no as location,
    line_amount as residual,
from mart.order_lines
where
    (line_amount is not null and order_id not in (select order_id from ruled))
    or (line_amount is null) <> (missing_amount_reason is not null)
