-- How do counted, excluded, deleted and unmapped orders add up to everything placed?
select
    sale_class,
    currency,
    sum(order_count) as order_count,
    sum(total_price) as total_price,
from mart.daily_store_sales
group by sale_class, currency
order by sale_class, currency
