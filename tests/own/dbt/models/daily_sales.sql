-- One row per business day and currency.
select business_date, currency, sum(total_price) as total_price
from {{ source('mart', 'orders') }}
group by business_date, currency
