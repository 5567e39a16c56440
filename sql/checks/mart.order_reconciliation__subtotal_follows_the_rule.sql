-- The subtotal follows from the lines by the subtotal rule in force.
-- severity: warning
select
    order_id as entity_id, 'subtotal_price' as location, subtotal_residual as residual,
    subtotal_likely_cause as detail,
from mart.order_reconciliation
where subtotal_residual <> 0
