-- What was the average order value of each store and platform, day by day?
select
    business_date,
    store_id,
    platform,
    dispatch_method,
    currency,
    order_count,
    priced_order_count,
    average_order_value,
from mart.daily_platform_sales
where sale_class = 'counted'
order by business_date desc, store_id, platform, dispatch_method
limit 100
