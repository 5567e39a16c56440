-- What was the average order value of each store and platform, day by day?
select
    business_date,
    store_id,
    platform,
    currency,
    count(*) as order_count,
    sum(total_price) / nullif(count(total_price), 0) as average_order_value,
from mart.orders
where sale_class = 'counted'
    and business_date > (select max(business_date) - 28 from mart.orders)
group by business_date, store_id, platform, currency
order by business_date desc, store_id, platform, currency
limit 100
