-- One row per order that is new to a closed day, and rule target: the rule that its population was closed with.
--
-- A step: read audit.order_rules instead.
-- Source: workings.order_closes, and the rules and populations that the close recorded.
-- Caveats: no row if the close recorded no such population.
--
-- key: order_id, rule_target
-- scope: order
--
-- rule: The rule; null where none held.
-- open_parts: part_no of what the order holds that was undecided then.
-- basis VARCHAR null: On what the rule was based; null where it does not hold for the order.

-- The close recorded by which values its populations were divided: an order belongs to the
-- one whose conditions it meets. Where settings name the rule, they must still name the same.
with orders as (
    select
        closes.order_id, closes.close_entry_no, closes.store_id, closes.business_date, closes.platform,
        closes.dispatch_method,
    from workings.order_closes as closes
    anti join raw.closed_orders using (order_id, close_entry_no)
    where closes.close_entry_no is not null
),
new_orders as (
    select
        orders.*,
        targets.rule_target, current.status, current.sale_class, current.weekday,
        if(rule_target = 'total', total_setting_no, subtotal_setting_no) as setting_no,
        if(rule_target = 'total', parts.holds, lines.holds) as holds,
    from mart.orders as current
    inner join orders using (order_id)
    inner join workings.order_rule_settings as settings using (order_id)
    left join workings.subtotal_patterns as lines using (order_id)
    left join workings.total_patterns as parts using (order_id)
    cross join (values ('subtotal'), ('total')) as targets (rule_target)
),
candidates as (
    select new_orders.*, rules.* exclude (close_entry_no, rule_target)
    from new_orders
    inner join raw.closed_rules as rules
        on new_orders.close_entry_no = rules.close_entry_no and new_orders.rule_target = rules.rule_target
    left join raw.formula_settings as configured using (setting_no)
    where rules.basis is distinct from 'configured' or rules.rule = configured.rule
),
conditions as (
    select
        candidates.order_id, candidates.rule_target, candidates.rule_no, listed.condition_no,
        any_value(listed.is_other) as is_other,
        bool_or(
            case
                when listed.dimension = 'business_date'
                    then candidates.business_date
                        between coalesce(listed.first_day, candidates.business_date)
                        and coalesce(listed.last_day, candidates.business_date)
                else listed.value is not distinct from case listed.dimension
                    when 'platform' then candidates.platform
                    when 'dispatch_method' then candidates.dispatch_method
                    when 'store_id' then cast(candidates.store_id as varchar)
                    when 'status' then candidates.status
                    when 'sale_class' then cast(candidates.sale_class as varchar)
                    when 'weekday' then cast(candidates.weekday as varchar)
                    when 'rule_setting' then cast(candidates.setting_no as varchar)
                    else candidates.holds[parts.part_no]
                end
            end
        ) as is_among,
    from candidates
    inner join raw.closed_scopes as listed using (close_entry_no, rule_no)
    left join workings.formula_parts as parts using (rule_target, part)
    group by candidates.order_id, candidates.rule_target, candidates.rule_no, listed.condition_no
),
found as (
    select
        candidates.*,
        list_filter(open_parts, lambda part: coalesce(holds[part] = '1', true)) as held_open_parts,
    from candidates
    anti join (from conditions where is_among = is_other) as unmet using (order_id, rule_target, rule_no)
    qualify row_number() over (partition by candidates.order_id, candidates.rule_target order by candidates.rule_no) = 1
)

select
    order_id, rule_target,
    -- the rule; where candidates differ on something that the order holds, none gives its
    -- price, but with too few orders to judge a total the observed formula is assumed
    if(len(held_open_parts) > 0 and is_assumable, 'observed/unrounded', rule) as rule,
    held_open_parts as open_parts,
    case when len(held_open_parts) = 0 then basis when is_assumable then 'assumed' end as basis,
from found
