-- Every order is reconciled once, with the amounts of mart.orders and exact residuals.
-- severity: blocking
select
    coalesce(orders.order_id, reconciled.order_id) as entity_id,
    case
        when reconciled.order_id is null then 'missing'
        when orders.order_id is null then 'not in mart.orders'
        when reconciled.formula_total + reconciled.total_residual
            <> reconciled.total_price then 'total_price'
        when reconciled.formula_subtotal + reconciled.subtotal_residual
            <> reconciled.subtotal_price then 'subtotal_price'
        else 'fields'
    end as location,
from mart.orders as orders
full join mart.order_reconciliation as reconciled
    on orders.order_id = reconciled.order_id
where
    orders.order_id is null
    or reconciled.order_id is null
    or orders.store_id is distinct from reconciled.store_id
    or orders.sale_class <> reconciled.sale_class
    or orders.business_date is distinct from reconciled.business_date
    or orders.currency is distinct from reconciled.currency
    or orders.subtotal_price is distinct from reconciled.subtotal_price
    or orders.delivery_price is distinct from reconciled.delivery_price
    or orders.tip is distinct from reconciled.tip
    or orders.discount is distinct from reconciled.discount
    or orders.loyalty_discount is distinct from reconciled.loyalty_discount
    or orders.total_price is distinct from reconciled.total_price
    or reconciled.formula_total + reconciled.total_residual <> reconciled.total_price
    or reconciled.formula_subtotal + reconciled.subtotal_residual
        <> reconciled.subtotal_price
