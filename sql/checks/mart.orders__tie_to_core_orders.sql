-- mart.orders has every order of core.orders once, with the same amounts.
-- severity: blocking
select
    coalesce(core_orders.order_id, mart_orders.order_id) as entity_id,
    case
        when mart_orders.order_id is null then 'missing'
        when core_orders.order_id is null then 'not in core.orders'
        else 'fields'
    end as location,
from core.orders as core_orders
full join mart.orders as mart_orders on core_orders.order_id = mart_orders.order_id
where
    core_orders.order_id is null
    or mart_orders.order_id is null
    or core_orders.store_id is distinct from mart_orders.store_id
    or core_orders.subtotal_price is distinct from mart_orders.subtotal_price
    or core_orders.delivery_price is distinct from mart_orders.delivery_price
    or core_orders.tip is distinct from mart_orders.tip
    or core_orders.discount is distinct from mart_orders.discount
    or core_orders.loyalty_discount is distinct from mart_orders.loyalty_discount
    or core_orders.total_price is distinct from mart_orders.total_price
