-- One row per store, business day and sale class of a reconciliation.
select
    dense_rank() over (order by days.currency nulls last, days.sale_class) as line,
    days.business_date,
    cast(days.store_id as varchar) as store_id,
    stores.name as store_name,
    days.currency, days.sale_class, days.order_count, days.balanced_count,
    days.total_break_count, days.subtotal_break_count, days.both_break_count,
    days.indeterminate_count, days.break_count,
    days.$price,
    days.line_amount, days.unallocated_amount, days.subtotal_residual,
    days.subtotal_abs_residual, days.total_residual, days.total_abs_residual,
from mart.daily_reconciliations as days
left join core.stores as stores using (store_id)
where
    (cast($since as date) is null or days.business_date >= $since)
    and (cast($until as date) is null or days.business_date <= $until)
    and (cast($store_id as bigint) is null or days.store_id = $store_id)
order by days.business_date nulls last, days.store_id nulls last, days.sale_class
