-- The amounts of an order's lines and its unallocated amount add up to its subtotal.
-- severity: blocking
-- coalesce: a subtotal that is not stated, and lines without an amount, add nothing
select
    order_id as entity_id, 'unallocated_amount' as location,
    cast(coalesce(line_amount, 0) + unallocated_amount - coalesce(subtotal_price, 0) as decimal(38, 4)) as residual,
from mart.order_reconciliation
where coalesce(line_amount, 0) + unallocated_amount <> coalesce(subtotal_price, 0)
