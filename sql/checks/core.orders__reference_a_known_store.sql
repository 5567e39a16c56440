-- Every store that an order names has an observed record.
-- severity: warning
select
    orders.order_id as entity_id,
    'store_id' as location,
    'store ' || orders.store_id as detail,
from core.orders as orders
anti join core.stores as stores using (store_id)
where orders.store_id is not null
