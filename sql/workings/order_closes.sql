-- One row per order: the active close of its store's day, if that is closed.
--
-- A step: read mart.closed_days instead.
-- Source: mart.orders and the ledger's closes.
-- Caveats: null also where the day is closed for every store but this one, which was reopened.
--
-- key: order_id
-- scope: order
--
-- close_entry_no null: Number of the ledger entry that closed the day; null if it is open.
-- closed_at null: When that entry was written.

select
    orders.order_id, orders.store_id, orders.business_date,
    -- which orders a rule is about
    orders.platform, orders.dispatch_method,
    if(own.business_date is null, every_store.close_entry_no, own.close_entry_no) as close_entry_no,
    if(own.business_date is null, every_store.closed_at, own.closed_at) as closed_at,
from mart.orders as orders
$closes_of orders
