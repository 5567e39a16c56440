-- One row per order of a reconciliation, all or only those with a break.
with lines as (
    select
        currency, sale_class,
        dense_rank() over (order by currency nulls last, sale_class) as line,
    from mart.daily_reconciliations as rows where $selected group by currency, sale_class
)

select
    lines.line,
    cast(rows.order_id as varchar) as order_id,
    rows.business_date,
    cast(rows.store_id as varchar) as store_id,
    orders.store_name, rows.currency, rows.sale_class, orders.status, orders.created_at_local, orders.timezone,
    rows.verdict,
    rows.$price,
    rows.line_amount, rows.unallocated_amount, rows.formula_subtotal, rows.subtotal_residual,
    rows.subtotal_likely_cause, rows.formula_total, rows.total_residual, rows.total_likely_cause, rows.reason,
from mart.order_reconciliation as rows
inner join mart.orders as orders using (order_id)
inner join lines on rows.currency is not distinct from lines.currency and rows.sale_class = lines.sale_class
where
    $selected
    and (
        not $only_breaks
        or rows.verdict in ('total_break', 'subtotal_break', 'both_break')
    )
order by rows.business_date nulls last, rows.store_id nulls last, rows.order_id
