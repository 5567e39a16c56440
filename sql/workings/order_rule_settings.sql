-- One row per order: the rules that settings name for it, if any.
--
-- A step: read audit.order_rules instead.
-- Source: mart.orders, [[formula.rule]], [formula] total_rule and subtotal_rule. Of several the one with most
-- conditions holds, of equals the last.
--
-- key: order_id
-- scope: order
--
-- subtotal_setting_no BIGINT null: The rule of the settings: its place among [[formula.rule]], from 1; the two plain ones come first.
-- total_setting_no BIGINT null: The rule of the settings: its place among [[formula.rule]], from 1; the two plain ones come first.

-- Of several that are about an order, the one with most conditions; of equals the last.
with ranked as (
    select
        formula_settings.*,
        setting_no + 100000 * (
            if(platform is null, 0, 1)
            + if(dispatch_method is null, 0, 1)
            + if(store_id is null, 0, 1)
            + if(status is null, 0, 1)
            + if(first_day is null and last_day is null, 0, 1)
            + coalesce(len(conditions), 0)
        ) as rank,
    from raw.formula_settings
),
named as (
    select
        orders.order_id,
        arg_max(setting_no, rank) filter (where rule_target = 'subtotal') as subtotal_setting_no,
        arg_max(setting_no, rank) filter (where rule_target = 'total') as total_setting_no,
    from mart.orders as orders
    inner join ranked on is_in_scope(ranked, orders) and meets(ranked.conditions, orders)
    group by orders.order_id
)

select orders.order_id, named.subtotal_setting_no, named.total_setting_no,
from mart.orders as orders
left join named using (order_id)
