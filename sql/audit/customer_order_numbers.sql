-- One row per order that has a customer and a time: its place among the customer's orders.
select
    -- keys
    customer_key,
    order_id,
    -- place
    row_number() over (
        partition by customer_key order by created_at, order_id
    ) as customer_order_no,
from core.orders
where customer_key is not null and created_at is not null
-- mart.orders takes a range of orders at a time: in this order it need not look at all
order by order_id
