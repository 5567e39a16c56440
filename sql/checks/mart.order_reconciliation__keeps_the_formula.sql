-- The total follows from the parts, by the rule in force, else as in the observed order.
-- severity: warning
select
    order_id as entity_id,
    'total_price' as location,
    total_residual as residual,
    total_likely_cause as detail,
from mart.order_reconciliation
where total_residual <> 0
