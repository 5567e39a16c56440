-- One row per order of a closed day: the rules that it keeps while that is closed.
--
-- A step: read audit.order_rules instead.
-- Source: workings.order_closes and the ledger's closes. An order that came after the close has the one rule of its
-- platform on its store's day, else of its store's day, else of the whole day, else none.
--
-- key: order_id
-- scope: order
--
-- is_new BOOLEAN: Whether it came after the close.
-- line_rule: The rule of its lines.
-- line_open_parts: part_no of what it held that was undecided then.
-- subtotal_basis: On what that rule was based; null where it did not hold for the subtotal.
-- total_basis: On what that rule was based.
with orders as (
    select order_id, store_id, business_date, platform, close_entry_no
    from workings.order_closes
    where close_entry_no is not null
),

recorded as (
    select
        order_id, close_entry_no, business_date, store_id, platform,
        struct_pack(
            line_rule := line_rule,
            line_open_parts := line_open_parts,
            subtotal_basis := subtotal_basis,
            total_rule := total_rule,
            total_basis := total_basis
        ) as rules,
        struct_pack(line_rule, line_open_parts, subtotal_basis) as of_lines,
        struct_pack(total_rule, total_basis) as of_total,
    from raw.closed_orders
    where close_entry_no in (select distinct close_entry_no from orders)
),

-- where all orders of a day, a store's day, or a platform on it were closed with one rule
shared as (
    select
        business_date, store_id, platform,
        grouping(store_id) = 0 as is_of_store,
        grouping(platform) = 0 as is_of_platform,
        if(count(distinct of_lines) = 1, any_value(rules), null) as line_rules,
        if(count(distinct of_total) = 1, any_value(rules), null) as total_rules,
    from recorded
    group by grouping sets (
        (business_date, store_id, platform), (business_date, store_id), (business_date)
    )
),

found as (
    select
        orders.order_id,
        recorded.order_id is null as is_new,
        coalesce(
            recorded.rules, platforms.line_rules, store_days.line_rules, days.line_rules
        ) as line_rules,
        coalesce(
            recorded.rules, platforms.total_rules, store_days.total_rules, days.total_rules
        ) as total_rules,
    from orders
    left join recorded using (order_id, close_entry_no)
    left join shared as platforms
        on platforms.is_of_platform
        and orders.business_date = platforms.business_date
        and orders.store_id = platforms.store_id
        and orders.platform = platforms.platform
    left join shared as store_days
        on store_days.is_of_store
        and not store_days.is_of_platform
        and orders.business_date = store_days.business_date
        and orders.store_id = store_days.store_id
    left join shared as days
        on not days.is_of_store
        and orders.business_date = days.business_date
)

select
    order_id,
    is_new,
    -- the rules
    line_rules.line_rule,
    coalesce(line_rules.line_open_parts, []) as line_open_parts,
    line_rules.subtotal_basis,
    total_rules.total_rule,
    total_rules.total_basis,
from found
