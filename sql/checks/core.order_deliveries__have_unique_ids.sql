-- No two delivery records of an order have the same id.
-- severity: warning
with repeated as (
    select order_id, delivery_id,
    from core.order_deliveries
    where delivery_id is not null
    group by order_id, delivery_id
    having count(*) > 1
)

select
    deliveries.order_id as entity_id,
    'delivery ' || deliveries.delivery_no as location,
    'delivery id ' || deliveries.delivery_id as detail,
from core.order_deliveries as deliveries
semi join repeated using (order_id, delivery_id)
