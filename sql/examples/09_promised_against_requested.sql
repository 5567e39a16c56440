-- How far is the promised time from the requested one, in the last 28 days?
select
    store_id,
    dispatch_method,
    count(*) as order_count,
    median(
        date_sub('minute', requested_time, promised_delivery_time)
    ) as median_minutes,
from mart.orders
where sale_class = 'counted' and promised_delivery_time is not null
    and business_date > (select max(business_date) - 28 from mart.orders)
group by store_id, dispatch_method
order by store_id, dispatch_method
