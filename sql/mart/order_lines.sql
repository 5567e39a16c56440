-- One row per order line, with its amount under the subtotal rule in force.
with

rules as (
    select
        rule,
        answers[1] = 1 as is_price_alone,
        answers[2] = 0 as is_without,
        answers[3] = 0 as is_per_unit,
        answers[4] = 0 as is_own,
        case answers[5] when 1 then 0 when 2 then -1 else 1 end as sign,
        if(rounded_per = 'line', kept_decimals, null) as decimals,
        rule like '%/half_even_%' as is_half_even,
    from audit.formula_rules
    where part = 'subtotal'
),

orders as (
    select
        orders.order_id,
        orders.store_id,
        orders.business_date,
        orders.sale_class,
        orders.store_name,
        orders.currency,
        in_force.subtotal_rule,
        in_force.is_action_open,
        rules.* exclude (rule),
    from mart.orders as orders
    inner join audit.order_rules as in_force on orders.order_id = in_force.order_id
    left join rules on in_force.subtotal_rule = rules.rule
),

lines as (
    select
        orders.*,
        sums.line_no,
        sums.product_id,
        sums.name,
        sums.quantity,
        sums.is_whole,
        sums.has_other,
        case
            when orders.subtotal_rule is null or not sums.is_whole then null
            when orders.is_action_open and sums.has_other then null
            -- most quantities are 1, which saves the multiplication
            else if(
                is_price_alone or sums.quantity = 1,
                sums.price,
                cast(sums.price as decimal(38, 4)) * sums.quantity
            ) + case
                when is_without or not sums.has_modifiers then 0
                when not sums.has_other and (sums.quantity = 1 or not is_per_unit)
                    then if(is_own, sums.add_own, sums.add_once)
                else if(is_per_unit, sums.quantity, 1) * (
                    if(is_own, sums.add_own, sums.add_once)
                    + sign * if(is_own, sums.other_own, sums.other_once)
                )
            end
        end as exact,
    from audit.order_line_sums as sums
    inner join orders on sums.order_id = orders.order_id
),

rounded as (
    select
        *,
        round_amount(exact, decimals, is_half_even) as line_amount,
    from lines
)

select
    -- keys
    order_id,
    line_no,
    store_id,
    business_date,
    sale_class,
    product_id,
    -- names
    store_name,
    name,
    -- how much
    quantity,
    -- money
    currency,
    line_amount,
    case
        when line_amount is not null then null
        when subtotal_rule is null then 'no_rule'
        when not is_whole then 'missing_input'
        else 'action_unknown'
    end as missing_amount_reason,
from rounded
