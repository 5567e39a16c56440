-- The total follows from the price fields by the total rule in force.
-- severity: warning
select
    order_id as entity_id, 'total_price' as location, total_residual as residual, total_likely_cause as detail,
from mart.order_reconciliation
where total_residual <> 0
