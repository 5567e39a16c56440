-- One row per store, business day and sale class: price residuals and breaks.
select
    -- keys
    store_id,
    business_date,
    sale_class,
    -- orders by verdict
    count(*) as order_count,
    count(*) filter (where verdict = 'balanced') as balanced_count,
    count(*) filter (where verdict = 'total_break') as total_break_count,
    count(*) filter (where verdict = 'subtotal_break') as subtotal_break_count,
    count(*) filter (where verdict = 'both_break') as both_break_count,
    count(*) filter (where verdict = 'indeterminate') as indeterminate_count,
    count(*) filter (where verdict in ('total_break', 'subtotal_break', 'both_break'))
        as break_count,
    -- money as sent
    currency,
    sum(subtotal_price) as subtotal_price,
    sum(delivery_price) as delivery_price,
    sum(tip) as tip,
    sum(discount) as discount,
    sum(loyalty_discount) as loyalty_discount,
    sum(total_price) as total_price,
    -- money by the effective rules
    sum(line_amount) as line_amount,
    sum(unallocated_amount) as unallocated_amount,
    sum(formula_subtotal) as formula_subtotal,
    sum(subtotal_residual) as subtotal_residual,
    sum(abs(subtotal_residual)) as subtotal_abs_residual,
    sum(formula_total) as formula_total,
    sum(total_residual) as total_residual,
    sum(abs(total_residual)) as total_abs_residual,
from mart.order_reconciliation
-- a store has one currency, so grouping by it adds no rows
group by store_id, business_date, sale_class, currency
