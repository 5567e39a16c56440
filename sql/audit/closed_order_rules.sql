-- One row per order: the rules that it keeps while its day is closed, if it is.
--
-- What the close recorded for it; of a close that recorded rules by scope, the narrowest's.
-- One that came later takes its population's, else that of its store's day, else the day's.
with

every_store as (
    select business_date, close_entry_no from raw.day_closes where is_every_store
),

own as (
    select business_date, store_id, close_entry_no from raw.day_closes where not is_every_store
),

orders as (
    select
        orders.order_id,
        orders.business_date,
        orders.store_id,
        orders.platform,
        orders.dispatch_method,
        if(own.business_date is null, every_store.close_entry_no, own.close_entry_no)
            as close_entry_no,
    from mart.orders as orders
    left join own
        on orders.business_date = own.business_date
        and orders.store_id = own.store_id
    left join every_store on orders.business_date = every_store.business_date
),

recorded as (
    select
        order_id,
        close_entry_no,
        business_date,
        store_id,
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
    where close_entry_no in (select distinct close_entry_no from raw.day_closes)
),

-- of a close that did not record them by order
by_scope as (
    select
        orders.order_id,
        struct_pack(
            line_rule := arg_min(rules.rule, place) filter (where rule_target = 'subtotal'),
            line_open_parts := cast([] as bigint[]),
            subtotal_basis := arg_min(rules.basis, place)
                filter (where rule_target = 'subtotal'),
            total_rule := arg_min(rules.rule, place) filter (where rule_target = 'total'),
            total_basis := arg_min(rules.basis, place) filter (where rule_target = 'total')
        ) as rules,
    from orders
    inner join (
        select
            *,
            list_position(['platform', 'dispatch_method', 'store', 'month', 'all'], scope)
                as place,
        from raw.closed_rules
        where scope <> 'population'
    ) as rules
        on orders.close_entry_no = rules.close_entry_no
        and rules.scope_value is not distinct from case rules.scope
            when 'platform' then orders.platform
            when 'dispatch_method' then orders.dispatch_method
            when 'store' then cast(orders.store_id as varchar)
            when 'month' then strftime(orders.business_date, '%Y-%m')
            else 'all'
        end
    group by orders.order_id
),

-- where all orders of a day, or of a store's day, were closed with one and the same
shared as (
    select
        business_date,
        store_id,
        grouping(store_id) = 0 as is_of_store,
        if(count(distinct of_lines) = 1, any_value(rules), null) as line_rules,
        if(count(distinct of_total) = 1, any_value(rules), null) as total_rules,
    from recorded
    group by grouping sets ((business_date, store_id), (business_date))
),

found as (
    select
        orders.order_id,
        orders.close_entry_no is not null as is_closed,
        subtotals.order_id is not null as has_subtotal,
        totals.order_id is not null as has_total,
        coalesce(by_scope.rules, recorded.rules, store_days.line_rules, days.line_rules)
            as line_rules,
        coalesce(by_scope.rules, recorded.rules, store_days.total_rules, days.total_rules)
            as total_rules,
        subtotals.rule as population_line_rule,
        subtotals.open_parts as population_open_parts,
        subtotals.basis as population_subtotal_basis,
        if(totals.basis is null, null, totals.rule) as population_total_rule,
        totals.basis as population_total_basis,
    from orders
    left join recorded
        on orders.order_id = recorded.order_id
        and orders.close_entry_no = recorded.close_entry_no
    left join by_scope on orders.order_id = by_scope.order_id
    left join audit.closed_population_rules as subtotals
        on orders.order_id = subtotals.order_id
        and subtotals.rule_target = 'subtotal'
    left join audit.closed_population_rules as totals
        on orders.order_id = totals.order_id
        and totals.rule_target = 'total'
    left join shared as store_days
        on store_days.is_of_store
        and orders.business_date = store_days.business_date
        and orders.store_id = store_days.store_id
    left join shared as days
        on not days.is_of_store
        and orders.business_date = days.business_date
)

select
    -- keys
    order_id,
    -- the rules
    is_closed,
    if(has_subtotal, population_line_rule, if(is_closed, line_rules.line_rule, null))
        as line_rule,
    case
        when has_subtotal then population_open_parts
        when is_closed then coalesce(line_rules.line_open_parts, [])
    end as line_open_parts,
    case
        when has_subtotal then population_subtotal_basis
        when is_closed then line_rules.subtotal_basis
    end as subtotal_basis,
    if(has_total, population_total_rule, if(is_closed, total_rules.total_rule, null))
        as total_rule,
    if(has_total, population_total_basis, if(is_closed, total_rules.total_basis, null))
        as total_basis,
from found
