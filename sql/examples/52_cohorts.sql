-- How many customers who first ordered in one of the last four months came back later?
with

orders as (
    select
        order_id,
        customer_key,
        currency,
        date_trunc('month', business_date) as business_month,
    from mart.orders
    where sale_class = 'counted' and customer_key is not null
        and business_date >= (
            select date_trunc('month', max(business_date)) - interval 3 month
            from mart.orders
        )
),

new_customers as (
    select
        customers.customer_key,
        customers.currency,
        orders.business_month as first_month,
    from mart.customers
    inner join orders on customers.first_order_id = orders.order_id
    where customers.sale_class = 'counted'
)

select
    new_customers.currency,
    new_customers.first_month,
    date_diff('month', new_customers.first_month, orders.business_month) as months_later,
    count(distinct new_customers.customer_key) as customer_count,
from new_customers
inner join orders
    on new_customers.customer_key = orders.customer_key
    and new_customers.currency is not distinct from orders.currency
group by new_customers.currency, new_customers.first_month, months_later
order by new_customers.currency, new_customers.first_month, months_later
