-- What is the average order value by store?
select
    store_id,
    any_value(store_name) as store_name,
    currency,
    count(*) as order_count,
    sum(total_price) / nullif(count(total_price), 0) as average_order_value,
from mart.orders
where sale_class = 'counted'
group by store_id, currency
order by currency, average_order_value desc nulls last, store_id
