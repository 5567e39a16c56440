-- One row per order new to a closed day and rule target: what its population was closed with.
--
-- The population is known by the words of its scope, as the close recorded it. Where
-- settings name the rule, they must still name the same one.
with

every_store as (
    select business_date, close_entry_no from raw.day_closes where is_every_store
),

own as (
    select business_date, store_id, close_entry_no from raw.day_closes where not is_every_store
),

closed as (
    select
        orders.order_id,
        if(own.business_date is null, every_store.close_entry_no, own.close_entry_no)
            as close_entry_no,
    from mart.orders as orders
    left join own
        on orders.business_date = own.business_date
        and orders.store_id = own.store_id
    left join every_store on orders.business_date = every_store.business_date
),

new_orders as (
    select order_id, close_entry_no
    from closed
    anti join raw.closed_orders using (order_id, close_entry_no)
    where close_entry_no is not null
),

placed as (
    select
        orders.order_id,
        'subtotal' as rule_target,
        orders.subtotal_population_no as population_no,
        patterns.holds,
    from audit.order_populations as orders
    left join audit.subtotal_patterns as patterns on orders.order_id = patterns.order_id

    union all

    select
        orders.order_id,
        'total' as rule_target,
        orders.total_population_no as population_no,
        patterns.holds,
    from audit.order_populations as orders
    left join audit.total_patterns as patterns on orders.order_id = patterns.order_id
),

found as (
    select
        new_orders.order_id,
        placed.rule_target,
        rules.rule,
        rules.basis,
        rules.is_assumable,
        list_filter(
            rules.open_parts,
            lambda part: coalesce(placed.holds[part] = '1', true)
        ) as open_parts,
    from new_orders
    inner join placed on new_orders.order_id = placed.order_id
    inner join audit.formula_populations as populations
        on placed.rule_target = populations.rule_target
        and placed.population_no = populations.population_no
    left join raw.formula_settings as configured
        on populations.rule_setting_no = configured.setting_no
    inner join raw.closed_rules as rules
        on new_orders.close_entry_no = rules.close_entry_no
        and rules.scope = 'population'
        and populations.rule_target = rules.rule_target
        and populations.scope = rules.scope_value
        and (rules.basis is distinct from 'configured' or rules.rule = configured.rule)
)

select
    -- keys
    order_id,
    rule_target,
    -- the rule; where candidates differ on something that the order holds, none gives its
    -- price, but with too few orders to judge a total the observed formula is assumed
    if(len(open_parts) > 0 and is_assumable, 'observed/unrounded', rule) as rule,
    open_parts,
    case
        when len(open_parts) = 0 then basis
        when is_assumable then 'assumed'
    end as basis,
from found
