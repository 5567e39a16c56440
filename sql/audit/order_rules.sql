-- One row per order: the rules by which its lines make its subtotal, its parts its total.
--
-- Of a platform, a dispatch method, a store, a month and all orders, the first in which
-- anything is decided holds.
with

orders as (
    select
        order_id,
        platform,
        dispatch_method,
        cast(store_id as varchar) as store,
        strftime(business_date, '%Y-%m') as month,
    from mart.orders
),

in_force as (
    select
        scope,
        scope_value,
        -- a row without a rule is an answer too: none
        any_value(
            struct_pack(rule := rule, source := source, is_open := is_action_open)
        ) filter (where part = 'subtotal') as subtotal,
        any_value(
            struct_pack(rule := rule, source := source, is_open := is_action_open)
        ) filter (where part = 'total') as total,
    from audit.formula_rules_in_force
    group by scope, scope_value
),

answered as (
    select
        orders.order_id,
        coalesce(
            platforms.subtotal,
            methods.subtotal,
            stores.subtotal,
            months.subtotal,
            wide.subtotal
        ) as subtotal,
        coalesce(
            platforms.total,
            methods.total,
            stores.total,
            months.total,
            wide.total
        ) as total,
    from orders
    left join in_force as platforms
        on platforms.scope = 'platform'
        and orders.platform is not distinct from platforms.scope_value
    left join in_force as methods
        on methods.scope = 'dispatch_method'
        and orders.dispatch_method is not distinct from methods.scope_value
    left join in_force as stores
        on stores.scope = 'store'
        and orders.store is not distinct from stores.scope_value
    left join in_force as months
        on months.scope = 'month'
        and orders.month is not distinct from months.scope_value
    left join in_force as wide on wide.scope = 'all'
)

select
    -- keys
    order_id,
    -- of the lines
    subtotal.rule as subtotal_rule,
    subtotal.source as subtotal_rule_source,
    coalesce(subtotal.is_open, false) as is_action_open,
    -- of the parts; the formula of the observed order until the orders answer or refute it
    if(total is null, 'observed/unrounded', total.rule) as total_rule,
    if(total is null, 'assumed', total.source) as total_rule_source,
from answered
