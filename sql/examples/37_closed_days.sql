-- Which days are closed, with which amounts?
select
    business_date,
    store_id,
    platform,
    sale_class,
    measure,
    currency,
    closed_amount,
    unposted_amount,
    current_amount,
from mart.closed_days
order by business_date desc, store_id, platform, sale_class, measure, currency
