-- One row per currency: its best day.
select currency, max(total_price) as total_price
from {{ ref('daily_sales') }}
group by currency
