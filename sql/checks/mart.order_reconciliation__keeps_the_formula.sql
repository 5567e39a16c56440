-- The total is subtotal plus delivery plus tip, less discount and loyalty discount.
-- severity: warning
select
    order_id as entity_id,
    'total_price' as place,
    total_residual as residual,
from mart.order_reconciliation
where verdict = 'total_off'
