-- Which days are closed, with which amounts?
select
    business_date,
    store_id,
    sale_class,
    measure,
    currency,
    closed_amount,
    unposted_amount,
    current_amount,
from mart.closed_days
order by business_date desc, store_id, sale_class, measure, currency
