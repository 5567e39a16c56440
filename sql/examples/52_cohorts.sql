-- How many customers who first ordered in one of the last four months came back later?
with sales as (
    select
        customer_key, currency,
        date_trunc('month', business_date) as business_month,
        min(if(is_first_order, business_month, null)) over (partition by customer_key)
            as first_month,
    from mart.orders
    where sale_class = 'counted' and customer_key is not null
        and business_date >= (
            select date_trunc('month', max(business_date)) - interval 3 month
            from mart.orders
        )
)

select
    currency,
    first_month,
    date_diff('month', first_month, business_month) as months_later,
    count(distinct customer_key) as customer_count,
from sales
where first_month is not null
group by currency, first_month, months_later
order by currency, first_month, months_later
