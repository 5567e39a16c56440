-- What is the average order value by store?
select
    store_id,
    store_name,
    currency,
    sum(order_count) as order_count,
    sum(total_price) / sum(order_count) as average_order_value,
from mart.daily_store_sales
where sale_class = 'counted'
group by store_id, store_name, currency
order by currency, average_order_value desc nulls last
