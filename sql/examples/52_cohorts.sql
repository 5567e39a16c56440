-- How many customers of a month come back in later months?
select
    date_trunc('month', customers.first_created_at) as first_month,
    date_diff('month', customers.first_created_at, orders.created_at) as months_later,
    count(distinct orders.customer_key) as customer_count,
from mart.orders as orders
inner join mart.customers as customers
    on orders.customer_key = customers.customer_key
    and orders.sale_class = customers.sale_class
    and orders.currency is not distinct from customers.currency
where orders.sale_class = 'counted' and orders.created_at is not null
group by first_month, months_later
order by first_month, months_later
