-- Over all days, by day, class and currency, daily figures add up reconciled orders.
-- severity: blocking
-- scope: all
with

-- coalesce: what no order states, or what is not known, adds nothing on either side
both_sides as (
    select
        business_date,
        sale_class,
        currency,
        sum(order_count) as order_count,
        sum(break_count) as break_count,
        coalesce(sum(subtotal_price), 0) as subtotal_price,
        coalesce(sum(delivery_price), 0) as delivery_price,
        coalesce(sum(tip), 0) as tip,
        coalesce(sum(discount), 0) as discount,
        coalesce(sum(loyalty_discount), 0) as loyalty_discount,
        coalesce(sum(total_price), 0) as total_price,
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
        -coalesce(sum(subtotal_price), 0) as subtotal_price,
        -coalesce(sum(delivery_price), 0) as delivery_price,
        -coalesce(sum(tip), 0) as tip,
        -coalesce(sum(discount), 0) as discount,
        -coalesce(sum(loyalty_discount), 0) as loyalty_discount,
        -coalesce(sum(total_price), 0) as total_price,
        -coalesce(sum(line_amount), 0) as line_amount,
        -coalesce(sum(unallocated_amount), 0) as unallocated_amount,
        -coalesce(sum(formula_subtotal), 0) as formula_subtotal,
        -coalesce(sum(subtotal_residual), 0) as subtotal_residual,
        -coalesce(sum(formula_total), 0) as formula_total,
        -coalesce(sum(total_residual), 0) as total_residual,
    from mart.order_reconciliation
    group by business_date, sale_class, currency
),

differences as (
    select
        business_date,
        sale_class,
        currency,
        sum(order_count) as order_count,
        sum(total_residual) as total_residual,
        sum(order_count) <> 0
        or sum(break_count) <> 0
        or sum(subtotal_price) <> 0
        or sum(delivery_price) <> 0
        or sum(tip) <> 0
        or sum(discount) <> 0
        or sum(loyalty_discount) <> 0
        or sum(total_price) <> 0
        or sum(line_amount) <> 0
        or sum(unallocated_amount) <> 0
        or sum(formula_subtotal) <> 0
        or sum(subtotal_residual) <> 0
        or sum(formula_total) <> 0
        or sum(total_residual) <> 0 as is_off,
    from both_sides
    group by business_date, sale_class, currency
)

select
    cast(null as bigint) as entity_id,
    concat_ws(', ', coalesce(cast(business_date as varchar), 'no day'), sale_class, currency)
        as location,
    total_residual as residual,
    order_count || ' orders' as detail,
from differences
where is_off
