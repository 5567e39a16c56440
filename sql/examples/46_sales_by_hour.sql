-- At which hours do stores sell?
select
    store_id,
    hour,
    currency,
    sum(order_count) as order_count,
    sum(total_price) as total_price,
from mart.hourly_store_sales
where sale_class = 'counted'
group by store_id, hour, currency
order by store_id, hour, currency
