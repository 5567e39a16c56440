-- Who are the best customers of the last 90 days, and when did they last order?
select
    customer_key,
    currency,
    count(*) as order_count,
    sum(total_price) as total_price,
    max(created_at) as last_created_at,
from mart.orders
where sale_class = 'counted' and customer_key is not null
    and business_date > (select max(business_date) - 90 from mart.orders)
group by customer_key, currency
order by order_count desc, customer_key, currency
limit 20
