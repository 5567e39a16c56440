-- Every order with a creation time has it in local time too.
-- severity: blocking
select
    orders.order_id as entity_id, 'created_at_local' as location,
from mart.orders as orders
where orders.created_at is not null and orders.created_at_local is null
