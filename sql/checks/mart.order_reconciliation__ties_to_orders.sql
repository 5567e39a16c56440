-- Every order is reconciled once, and its total is formula and residual to the cent.
-- severity: blocking
select
    coalesce(orders.order_id, reconciled.order_id) as entity_id,
    if(reconciled.order_id is null, 'lost', 'total_price') as place,
from mart.orders as orders
full join mart.order_reconciliation as reconciled
    on orders.order_id = reconciled.order_id
where
    orders.order_id is null
    or reconciled.order_id is null
    or orders.total_price is distinct from reconciled.total_price
    or orders.sale_class <> reconciled.sale_class
    or orders.business_date is distinct from reconciled.business_date
    or reconciled.formula_total + reconciled.total_residual <> reconciled.total_price
