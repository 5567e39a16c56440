-- One row per order that has a customer and a time: its place among the customer's orders.
--
-- A step: read mart.orders instead.
-- Source: core.orders with a customer_key. Empty if there are no keys.
--
-- key: order_id
-- scope: customer
--
-- customer_key not null
-- customer_order_no not null: Which of the customer's orders it is, from 1, by created_at, then id.
select
    customer_key, order_id,
    row_number() over (partition by customer_key order by created_at, order_id) as customer_order_no,
from core.orders
where customer_key is not null and created_at is not null
-- mart.orders takes a range of orders at a time: in this order it need not look at all
order by order_id
