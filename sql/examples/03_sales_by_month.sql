-- How do sales develop from month to month?
select
    date_trunc('month', business_date) as business_month,
    currency,
    sum(order_count) as order_count,
    sum(total_price) as total_price,
from mart.daily_store_sales
where sale_class = 'counted'
group by all
order by currency, business_month
