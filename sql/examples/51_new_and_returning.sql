-- How many sales of the last 13 months were a customer's first, and how many a later one?
select
    date_trunc('month', orders.business_date) as business_month,
    orders.currency,
    count(customers.first_order_id) as new_order_count,
    count(orders.customer_key) - new_order_count as returning_order_count,
    count(*) - count(orders.customer_key) as unknown_order_count,
from mart.orders as orders
left join mart.customers as customers
    on orders.order_id = customers.first_order_id
    and customers.sale_class = 'counted'
where orders.sale_class = 'counted'
    and orders.business_date > (
        select max(business_date) - interval 13 months,
        from mart.orders
    )
group by business_month, orders.currency
order by business_month, orders.currency
