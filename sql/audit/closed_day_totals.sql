-- One row per store, closed business day and sale class: totals of the active close.
with

closed as not materialized (
    select orders.*
    from raw.closed_orders as orders
    left join raw.day_closes as own
        on orders.business_date = own.business_date
        and orders.store_id = own.store_id
        and not own.is_every_store
    left join raw.day_closes as every_store
        on orders.business_date = every_store.business_date
        and every_store.is_every_store
    where
        orders.close_entry_no
        = if(own.business_date is null, every_store.close_entry_no, own.close_entry_no)
)

select
    -- keys
    store_id,
    business_date,
    sale_class,
    -- orders, with the same fingerprint as in audit.daily_fingerprints
    count(*) as order_count,
    cast(bit_xor(money_fingerprint(closed)) as varchar) as fingerprint,
    -- money
    max(currency) as currency, -- a store has one
    sum(subtotal_price) as subtotal_price,
    sum(delivery_price) as delivery_price,
    sum(tip) as tip,
    sum(discount) as discount,
    sum(loyalty_discount) as loyalty_discount,
    sum(total_price) as total_price,
    sum(line_amount) as line_amount,
from closed
group by store_id, business_date, sale_class
