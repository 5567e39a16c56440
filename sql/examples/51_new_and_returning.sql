-- How many orders are of new and returning customers, in the last 13 months?
select
    date_trunc('month', business_date) as business_month,
    count(*) filter (where is_first_order) as new_order_count,
    count(*) filter (where not is_first_order) as returning_order_count,
    count(*) filter (where is_first_order is null) as unknown_order_count,
from mart.orders
where sale_class = 'counted'
    and business_date > (
        select max(business_date) - interval 13 months,
        from mart.orders
    )
group by business_month
order by business_month
