-- What did the orders look like at a time?
from orders_as_of(timestamptz '2026-11-20 10:00:00Z')
order by order_id
limit 20
