-- One row per order of a reconciliation, all or only those with a break.
with lines as (
    select
        currency, sale_class,
        dense_rank() over (order by currency nulls last, sale_class) as line,
    from mart.daily_reconciliations
    where
        (cast($since as date) is null or business_date >= $since)
        and (cast($until as date) is null or business_date <= $until)
        and (cast($store_id as bigint) is null or store_id = $store_id)
    group by currency, sale_class
)

select
    lines.line,
    cast(sums.order_id as varchar) as order_id,
    sums.business_date,
    cast(sums.store_id as varchar) as store_id,
    orders.store_name, sums.currency, sums.sale_class, orders.status,
    orders.created_at_local, orders.timezone, sums.verdict,
    sums.$price,
    sums.line_amount, sums.unallocated_amount, sums.formula_subtotal,
    sums.subtotal_residual, sums.subtotal_likely_cause, sums.formula_total,
    sums.total_residual, sums.total_likely_cause, sums.reason,
from mart.order_reconciliation as sums
inner join mart.orders as orders using (order_id)
inner join lines
    on sums.currency is not distinct from lines.currency
    and sums.sale_class = lines.sale_class
where
    (cast($since as date) is null or sums.business_date >= $since)
    and (cast($until as date) is null or sums.business_date <= $until)
    and (cast($store_id as bigint) is null or sums.store_id = $store_id)
    and (
        not $only_breaks
        or sums.verdict in ('total_break', 'subtotal_break', 'both_break')
    )
order by sums.business_date nulls last, sums.store_id nulls last, sums.order_id
