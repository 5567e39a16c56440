-- Over all days, a customer's orders that have a time are numbered from 1 without gaps.
-- severity: blocking
-- scope: all
with customers as (
    select
        min(order_id) as order_id, count(created_at) as order_count, count(customer_order_no) as number_count,
        coalesce(max(customer_order_no), 0) as last_no,
        coalesce(sum(customer_order_no), 0) as number_sum,
        count(*) filter (where is_first_order) as first_count,
    from mart.orders where customer_key is not null group by customer_key
)

select
    order_id as entity_id,
    'the customer of order ' || order_id as location,
    cast(null as decimal(38, 4)) as residual,
    number_count || ' numbers for ' || order_count || ' orders' as detail,
from customers
where
    number_count <> order_count
    or last_no <> order_count
    or number_sum <> order_count * (order_count + 1) // 2
    or first_count <> if(order_count > 0, 1, 0)
