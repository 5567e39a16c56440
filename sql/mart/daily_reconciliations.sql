-- One row per store, business day and sale class: orders by verdict, amounts and residuals.
--
-- Source: mart.order_reconciliation; a blocking check ties to it exactly.
-- Caveats: residuals of opposite sign cancel: check break counts and absolute residuals, not the sums. A row has one
-- store, hence one currency: add stores only within a currency.
--
-- key: store_id, business_date, sale_class
-- scope: day
--
-- balanced_count BIGINT >= 0: Number of balanced orders.
-- total_break_count BIGINT >= 0: Number of orders with a total break and a balanced or indeterminate subtotal.
-- subtotal_break_count BIGINT >= 0: Number of orders with a subtotal break and a balanced or indeterminate total.
-- both_break_count BIGINT >= 0: Number of orders with both breaks.
-- indeterminate_count BIGINT >= 0: Number of indeterminate orders.
-- break_count BIGINT >= 0: Number of orders with any break.
-- $price DECIMAL(38,4): Sum of $price over the orders that state it; null if none does.
-- unallocated_amount: The part of the subtotals on no line: line_amount plus this is always subtotal_price.
-- formula_subtotal: Sum of the known subtotals under the rule in force.
-- subtotal_residual: Sum of the known subtotal residuals.
-- subtotal_abs_residual DECIMAL(38,4) null >= 0: Sum of their absolute values.
-- formula_total: Sum of the known totals under the rule in force.
-- total_residual: Sum of the known total residuals.
-- total_abs_residual DECIMAL(38,4) null >= 0: Sum of their absolute values.
select
    store_id, business_date, sale_class, count(*) as order_count, count(total_price) as priced_order_count,
    count(*) filter (where verdict = 'balanced') as balanced_count,
    count(*) filter (where verdict = 'total_break') as total_break_count,
    count(*) filter (where verdict = 'subtotal_break') as subtotal_break_count,
    count(*) filter (where verdict = 'both_break') as both_break_count,
    count(*) filter (where verdict = 'indeterminate') as indeterminate_count,
    count(*) filter (where verdict in ('total_break', 'subtotal_break', 'both_break')) as break_count,
    currency,
    sum($price) as $price,
    -- money by the effective rules
    sum(line_amount) as line_amount, sum(unallocated_amount) as unallocated_amount,
    sum(formula_subtotal) as formula_subtotal, sum(subtotal_residual) as subtotal_residual,
    sum(abs(subtotal_residual)) as subtotal_abs_residual,
    sum(formula_total) as formula_total, sum(total_residual) as total_residual,
    sum(abs(total_residual)) as total_abs_residual,
from mart.order_reconciliation
-- a store has one currency, so grouping by it adds no rows
group by store_id, business_date, sale_class, currency
