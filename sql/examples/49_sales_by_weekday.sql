-- How do weekdays compare, days without orders included?
select
    store_id,
    weekday,
    currency,
    count(*) as day_count,
    sum(counted_order_count) / count(*) as orders_per_day,
    sum(counted_total_price) as total_price,
from mart.calendar
where is_day_over
group by store_id, weekday, currency
order by store_id, weekday, currency
