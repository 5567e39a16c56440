-- Was an order placed twice?
from audit.possible_duplicate_orders
order by order_id
