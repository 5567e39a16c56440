-- Every delivery record belongs to an order.
-- severity: blocking
select
    deliveries.order_id as entity_id,
    'delivery ' || deliveries.delivery_no as location,
from core.order_deliveries as deliveries
anti join core.orders as orders using (order_id)
