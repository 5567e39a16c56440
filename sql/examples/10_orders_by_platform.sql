-- Where do orders come from, and how are they dispatched?
select
    platform,
    dispatch_method,
    currency,
    count(*) as order_count,
    sum(total_price) as total_price,
from mart.orders
where sale_class = 'counted'
group by all
order by order_count desc, platform, dispatch_method, currency
