-- No order repeats one of the same customer, store and lines within minutes.
-- severity: warning
-- scope: all
select
    order_id as entity_id, 'created_at' as location,
    cast(total_price as decimal(38, 4)) as residual,
    'like order ' || original_order_id || ', ' || seconds_later || ' s before' as detail,
from audit.possible_duplicate_orders
