-- One row per store, business day and sale class of a reconciliation.
select
    dense_rank() over (order by rows.currency nulls last, rows.sale_class) as line,
    rows.business_date,
    cast(rows.store_id as varchar) as store_id,
    stores.name as store_name, rows.currency, rows.sale_class, rows.order_count, rows.balanced_count,
    rows.total_break_count, rows.subtotal_break_count, rows.both_break_count, rows.indeterminate_count,
    rows.break_count,
    rows.$price,
    rows.line_amount, rows.unallocated_amount, rows.subtotal_residual, rows.subtotal_abs_residual,
    rows.total_residual, rows.total_abs_residual,
from mart.daily_reconciliations as rows
left join core.stores as stores using (store_id)
where $selected
order by rows.business_date nulls last, rows.store_id nulls last, rows.sale_class
