-- How much does each platform and dispatch method sell?
select
    platform,
    dispatch_method,
    currency,
    count(*) as order_count,
    sum(total_price) as total_price,
from mart.orders
where sale_class = 'counted'
group by platform, dispatch_method, currency
order by currency, total_price desc, platform, dispatch_method
