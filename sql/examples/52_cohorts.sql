-- How many customers who first ordered in one of the last four months came back later?
with sales as (
    select
        customer_key, currency, is_first_order,
        date_trunc('month', business_date) as business_month,
    from mart.orders
    where sale_class = 'counted' and customer_key is not null
        and business_date >= (
            select date_trunc('month', max(business_date)) - interval 3 month
            from mart.orders
        )
)

select
    sales.currency,
    firsts.business_month as first_month,
    date_diff('month', firsts.business_month, sales.business_month) as months_later,
    count(distinct sales.customer_key) as customer_count,
from sales
inner join (select * from sales where is_first_order) as firsts using (customer_key)
group by sales.currency, first_month, months_later
order by sales.currency, first_month, months_later
