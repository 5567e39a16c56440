-- Daily reconciliations equal the sum of their orders.
-- severity: blocking
with

-- coalesce: an unstated or unknown amount adds nothing on either side
days as (
    select
        store_id,
        business_date,
        sale_class,
        currency,
        [
            order_count,
            balanced_count,
            total_break_count,
            subtotal_break_count,
            both_break_count,
            indeterminate_count,
            break_count,
        ] as counts,
        [
            coalesce(subtotal_price, 0),
            coalesce(delivery_price, 0),
            coalesce(tip, 0),
            coalesce(discount, 0),
            coalesce(loyalty_discount, 0),
            coalesce(total_price, 0),
            coalesce(line_amount, 0),
            unallocated_amount,
            coalesce(formula_subtotal, 0),
            coalesce(subtotal_residual, 0),
            coalesce(subtotal_abs_residual, 0),
            coalesce(formula_total, 0),
            coalesce(total_residual, 0),
            coalesce(total_abs_residual, 0),
        ] as amounts,
    from mart.daily_reconciliations
),

added as (
    select
        store_id,
        business_date,
        sale_class,
        currency,
        [
            count(*),
            count(*) filter (where verdict = 'balanced'),
            count(*) filter (where verdict = 'total_break'),
            count(*) filter (where verdict = 'subtotal_break'),
            count(*) filter (where verdict = 'both_break'),
            count(*) filter (where verdict = 'indeterminate'),
            count(*) filter (where verdict like '%_break'),
        ] as counts,
        [
            coalesce(sum(subtotal_price), 0),
            coalesce(sum(delivery_price), 0),
            coalesce(sum(tip), 0),
            coalesce(sum(discount), 0),
            coalesce(sum(loyalty_discount), 0),
            coalesce(sum(total_price), 0),
            coalesce(sum(line_amount), 0),
            sum(unallocated_amount),
            coalesce(sum(formula_subtotal), 0),
            coalesce(sum(subtotal_residual), 0),
            coalesce(sum(abs(subtotal_residual)), 0),
            coalesce(sum(formula_total), 0),
            coalesce(sum(total_residual), 0),
            coalesce(sum(abs(total_residual)), 0),
        ] as amounts,
    from mart.order_reconciliation
    group by store_id, business_date, sale_class, currency
)

select
    coalesce(days.store_id, added.store_id) as entity_id,
    coalesce(cast(coalesce(days.business_date, added.business_date) as varchar), 'no day')
        || ', ' || coalesce(days.sale_class, added.sale_class) as location,
    abs(days.amounts[10] - added.amounts[10]) as residual,
from days
full join added
    on days.store_id is not distinct from added.store_id
    and days.business_date is not distinct from added.business_date
    and days.sale_class = added.sale_class
where
    days.currency is distinct from added.currency
    or days.counts is distinct from added.counts
    or days.amounts is distinct from added.amounts
