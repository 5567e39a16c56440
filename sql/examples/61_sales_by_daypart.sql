-- At which daypart do stores sell how much, in the last 28 days?
select
    store_id,
    store_name,
    daypart,
    currency,
    count(*) as order_count,
    sum(total_price) as total_price,
from mart.orders
where sale_class = 'counted'
    and business_date > (select max(business_date) - 28 from mart.orders)
group by store_id, store_name, daypart, currency
order by store_id, currency, total_price desc nulls last, daypart
