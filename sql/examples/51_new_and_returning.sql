-- How many orders come from new and from returning customers, by month?
select
    date_trunc('month', orders.business_date) as business_month,
    count(*) filter (where orders.order_id = customers.first_order_id) as new_order_count,
    count(*) filter (where orders.order_id <> customers.first_order_id)
        as returning_order_count,
    count(*) filter (where orders.customer_key is null) as unknown_order_count,
from mart.orders as orders
left join mart.customers as customers
    on orders.customer_key = customers.customer_key
    and orders.sale_class = customers.sale_class
    and orders.currency is not distinct from customers.currency
where orders.sale_class = 'counted'
group by business_month
order by business_month
