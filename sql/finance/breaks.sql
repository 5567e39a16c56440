-- One row per order with a break, with the hash of its amounts.
select
    order_id,
    'order:' || order_id as break_key,
    store_id, business_date, sale_class, currency, verdict, total_residual, subtotal_residual,
    greatest(coalesce(abs(total_residual), 0), coalesce(abs(subtotal_residual), 0)) as abs_residual,
    total_likely_cause, subtotal_likely_cause, breaks.content,
from mart.order_reconciliation
inner join (
    select order_id, any_value(content) as content from audit.breaks group by order_id
) as breaks using (order_id)
