-- One row per store, business day and sale class: its order count and a fingerprint.
--
-- A step: read audit.pending_restatements instead.
-- Source: mart.order_reconciliation.
--
-- key: store_id, business_date, sale_class
-- scope: day
--
-- sale_class: The sale class of the amount: counted, excluded, unmapped or deleted.
select
    store_id, business_date, sale_class, count(*) as order_count,
    cast(bit_xor(money_fingerprint(orders)) as varchar) as fingerprint,
from mart.order_reconciliation as orders
group by store_id, business_date, sale_class
