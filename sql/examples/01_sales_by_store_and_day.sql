-- How much did each store sell on each day?
select
    business_date,
    store_id,
    store_name,
    currency,
    order_count,
    total_price,
from mart.daily_store_sales
where sale_class = 'counted'
order by business_date desc, currency, total_price desc, store_id
limit 100
