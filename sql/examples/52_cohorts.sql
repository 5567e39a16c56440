-- How many customers of a month come back in later months?
with

active as (
    select
        customer_key,
        currency,
        date_trunc('month', business_date) as business_month,
    from mart.orders
    where sale_class = 'counted'
        and customer_key is not null and business_date is not null
    group by all
),

first as (
    select
        customer_key,
        currency,
        min(business_month) as first_month,
    from active
    group by customer_key, currency
)

select
    active.currency,
    first.first_month,
    date_diff('month', first.first_month, active.business_month) as months_later,
    count(*) as customer_count,
from active
inner join first
    on active.customer_key = first.customer_key
    and active.currency is not distinct from first.currency
group by active.currency, first.first_month, months_later
order by active.currency, first.first_month, months_later
