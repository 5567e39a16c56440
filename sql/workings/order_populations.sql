-- One row per order: the populations it belongs to.
--
-- A step: read audit.order_rules instead.
-- Source: mart.orders, workings.formula_divisions and what the order holds.
--
-- key: order_id
-- scope: order
with recursive tested as materialized (
    select
        orders.order_id, targets.rule_target, orders.platform, orders.dispatch_method, orders.store_id,
        orders.status, orders.sale_class, orders.business_date, orders.weekday,
        if(targets.rule_target = 'total', parts.holds, lines.holds) as holds,
        -- a rule that settings name has a node of its own
        coalesce(-if(targets.rule_target = 'total', total_setting_no, subtotal_setting_no), 0) as node_no,
    from mart.orders as orders
    inner join workings.order_rule_settings as settings on orders.order_id = settings.order_id
    left join workings.subtotal_patterns as lines on orders.order_id = lines.order_id
    left join workings.total_patterns as parts on orders.order_id = parts.order_id
    cross join (values ('subtotal'), ('total')) as targets (rule_target)
),
placed as (
    select order_id, rule_target, node_no from tested
    union all
    select
        tested.order_id, tested.rule_target,
        coalesce(divisions.child_no, rests.child_no) as node_no,
    from placed
    inner join workings.formula_divisions as rests
        on placed.rule_target = rests.rule_target and placed.node_no = rests.node_no and rests.is_rest
    inner join tested on placed.order_id = tested.order_id and placed.rule_target = tested.rule_target
    left join workings.formula_divisions as divisions
        on rests.rule_target = divisions.rule_target
        and rests.node_no = divisions.node_no
        and not divisions.is_rest
        and divisions.value is not distinct from case rests.dimension
            when 'platform' then tested.platform
            when 'dispatch_method' then tested.dispatch_method
            when 'store_id' then cast(tested.store_id as varchar)
            when 'status' then tested.status
            when 'sale_class' then cast(tested.sale_class as varchar)
            when 'business_date' then cast(tested.business_date as varchar)
            when 'weekday' then cast(tested.weekday as varchar)
            else tested.holds[rests.part_no]
        end
)

select
    order_id,
    -- its populations: children have higher numbers than what they are divided from
    max(node_no) filter (where rule_target = 'subtotal') as subtotal_population_no,
    max(node_no) filter (where rule_target = 'total') as total_population_no,
from placed
group by order_id
