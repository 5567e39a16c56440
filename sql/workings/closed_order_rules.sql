-- One row per order of a closed day: the rules that it keeps while that is closed.
--
-- A step: read audit.order_rules instead.
-- Source: workings.order_closes and the ledger's closes. An order that came after the close has the rule that its
-- population was closed with (workings.closed_population_rules), else the one rule of its store's day, else of the whole
-- day, else none.
--
-- key: order_id
-- scope: order
--
-- line_rule: The rule of its lines.
-- line_open_parts: part_no of what it held that was undecided then.
-- subtotal_basis: On what that rule was based; null where it did not hold for the subtotal.
-- total_basis: On what that rule was based.

-- What the close recorded for it. One that came later takes its population's, else that of
-- its store's day, else the day's.
with orders as (
    select order_id, store_id, business_date, close_entry_no
    from workings.order_closes where close_entry_no is not null
),
recorded as (
    select
        order_id, close_entry_no, business_date, store_id,
        struct_pack(
            line_rule := line_rule, line_open_parts := line_open_parts, subtotal_basis := subtotal_basis,
            total_rule := total_rule, total_basis := total_basis
        ) as rules,
        struct_pack(line_rule, line_open_parts, subtotal_basis) as of_lines,
        struct_pack(total_rule, total_basis) as of_total,
    from raw.closed_orders where close_entry_no in (select distinct close_entry_no from orders)
),
-- where all orders of a day, or of a store's day, were closed with one and the same
shared as (
    select
        business_date, store_id,
        grouping(store_id) = 0 as is_of_store,
        if(count(distinct of_lines) = 1, any_value(rules), null) as line_rules,
        if(count(distinct of_total) = 1, any_value(rules), null) as total_rules,
    from recorded group by grouping sets ((business_date, store_id), (business_date))
),
found as (
    select
        orders.order_id,
        subtotals.order_id is not null as has_subtotal,
        totals.order_id is not null as has_total,
        coalesce(recorded.rules, store_days.line_rules, days.line_rules) as line_rules,
        coalesce(recorded.rules, store_days.total_rules, days.total_rules) as total_rules,
        subtotals.rule as population_line_rule, subtotals.open_parts as population_open_parts,
        subtotals.basis as population_subtotal_basis,
        if(totals.basis is null, null, totals.rule) as population_total_rule,
        totals.basis as population_total_basis,
    from orders
    left join recorded using (order_id, close_entry_no)
    left join workings.closed_population_rules as subtotals
        on orders.order_id = subtotals.order_id and subtotals.rule_target = 'subtotal'
    left join workings.closed_population_rules as totals
        on orders.order_id = totals.order_id and totals.rule_target = 'total'
    left join shared as store_days
        on store_days.is_of_store
        and orders.business_date = store_days.business_date
        and orders.store_id = store_days.store_id
    left join shared as days on not days.is_of_store and orders.business_date = days.business_date
)

select
    order_id,
    if(has_subtotal, population_line_rule, line_rules.line_rule) as line_rule,
    if(has_subtotal, population_open_parts, coalesce(line_rules.line_open_parts, [])) as line_open_parts,
    if(has_subtotal, population_subtotal_basis, line_rules.subtotal_basis) as subtotal_basis,
    if(has_total, population_total_rule, total_rules.total_rule) as total_rule,
    if(has_total, population_total_basis, total_rules.total_basis) as total_basis,
from found
