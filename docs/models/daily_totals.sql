-- One row per business day and currency with counted orders.
--
-- Caveats: say here what a reader must know before adding up.
--
-- key: business_date, currency
--
-- business_date null
-- currency null
-- order_count: How many orders.
-- total_price DECIMAL(38,4) null: Their totals, added up.
select
    business_date,
    currency,
    count(*) as order_count,
    sum(total_price) as total_price,
from mart.orders
where sale_class = 'counted'
group by business_date, currency
