-- One row per store, closed business day, platform, sale class and currency: totals of the active close.
--
-- A step: read mart.closed_days instead.
-- Source: raw.closed_orders under raw.day_closes, from the ledger: rebuilt only when a day is closed or reopened.
--
-- key: store_id, business_date, platform, sale_class, currency
--
-- business_date not null: The closed business day.
-- platform: Where orders were placed at close; null where they name none, and of closes that did not record it.
-- sale_class: The sale class of the amount: counted, excluded, unmapped or deleted.
-- order_count: Orders at close.
-- $price DECIMAL(38,4): Sum of $price over the orders that state it; null if none does.
-- line_amount: Sum over its orders; null if no order states it.
with closed as not materialized (
    select orders.*
    from raw.closed_orders as orders
    $closes_of orders
    where orders.close_entry_no = if(own.business_date is null, every_store.close_entry_no, own.close_entry_no)
)

select
    store_id, business_date, platform, sale_class, currency,
    -- orders, with the same fingerprint as in workings.daily_fingerprints
    count(*) as order_count,
    cast(bit_xor(money_fingerprint(closed)) as varchar) as fingerprint,
    sum($price) as $price,
    sum(line_amount) as line_amount,
from closed
group by store_id, business_date, platform, sale_class, currency
