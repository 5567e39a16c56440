-- How many sales of the last 13 months were a customer's first order, and how many a later one?
select
    date_trunc('month', business_date) as business_month,
    currency,
    count(*) filter (where is_first_order) as new_order_count,
    count(*) filter (where not is_first_order) as returning_order_count,
    count(*) filter (where is_first_order is null) as unknown_order_count,
from mart.orders
where sale_class = 'counted'
    and business_date > (select max(business_date) - interval 13 months from mart.orders)
group by business_month, currency
order by business_month, currency
