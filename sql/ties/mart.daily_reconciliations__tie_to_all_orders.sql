-- Over all days, by day, class and currency, daily figures add up reconciled orders.
-- severity: blocking
-- scope: all
with

-- coalesce: what is not known adds nothing on either side
both_sides as (
    select
        business_date,
        sale_class,
        currency,
        sum(order_count) as order_count,
        sum(break_count) as break_count,
        memory.stated_sums(
            1, subtotal_price, delivery_price, tip, discount, loyalty_discount, total_price
        ) as sums,
        coalesce(sum(line_amount), 0) as line_amount,
        coalesce(sum(unallocated_amount), 0) as unallocated_amount,
        coalesce(sum(formula_subtotal), 0) as formula_subtotal,
        coalesce(sum(subtotal_residual), 0) as subtotal_residual,
        coalesce(sum(formula_total), 0) as formula_total,
        coalesce(sum(total_residual), 0) as total_residual,
    from mart.daily_reconciliations
    group by business_date, sale_class, currency

    union all

    select
        business_date,
        sale_class,
        currency,
        -count(*) as order_count,
        -count(*) filter (where total_residual <> 0 or subtotal_residual <> 0) as break_count,
        memory.stated_sums(
            -1, subtotal_price, delivery_price, tip, discount, loyalty_discount, total_price
        ) as sums,
        -coalesce(sum(line_amount), 0) as line_amount,
        -coalesce(sum(unallocated_amount), 0) as unallocated_amount,
        -coalesce(sum(formula_subtotal), 0) as formula_subtotal,
        -coalesce(sum(subtotal_residual), 0) as subtotal_residual,
        -coalesce(sum(formula_total), 0) as formula_total,
        -coalesce(sum(total_residual), 0) as total_residual,
    from mart.order_reconciliation
    group by business_date, sale_class, currency
)

select
    cast(null as bigint) as entity_id,
    concat_ws(', ', coalesce(cast(business_date as varchar), 'no day'), sale_class, currency)
        as location,
    sum(total_residual) as residual,
    sum(order_count) || ' orders' as detail,
from both_sides
group by business_date, sale_class, currency
having
    sum(order_count) <> 0
    or sum(break_count) <> 0
    or memory.sums_differ(sums)
    or sum(line_amount) <> 0
    or sum(unallocated_amount) <> 0
    or sum(formula_subtotal) <> 0
    or sum(subtotal_residual) <> 0
    or sum(formula_total) <> 0
    or sum(total_residual) <> 0
