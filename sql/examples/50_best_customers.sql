-- Who are the best customers, and when did they last order?
select
    customer_key,
    currency,
    order_count,
    total_price,
    first_created_at,
    last_created_at,
from mart.customers
where sale_class = 'counted'
order by order_count desc, customer_key, currency
limit 20
