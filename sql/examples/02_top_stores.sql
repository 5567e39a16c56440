-- Which are the five best-selling stores of each currency?
select
    currency,
    store_id,
    store_name,
    sum(order_count) as order_count,
    sum(total_price) as total_price,
from mart.daily_store_sales
where sale_class = 'counted'
group by currency, store_id, store_name
qualify
    row_number() over (
        partition by currency order by sum(total_price) desc, store_id
    ) <= 5
order by currency, total_price desc, store_id
