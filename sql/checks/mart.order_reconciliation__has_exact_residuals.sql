-- A residual is what is stated less what the rule in force gives, exactly.
-- severity: blocking
select
    order_id as entity_id,
    if(formula_total + total_residual <> total_price, 'total_price', 'subtotal_price') as location,
from mart.order_reconciliation
where formula_total + total_residual <> total_price or formula_subtotal + subtotal_residual <> subtotal_price
