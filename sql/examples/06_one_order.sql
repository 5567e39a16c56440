-- What is everything about one order, in one row?
from mart.orders
order by order_id
limit 1
