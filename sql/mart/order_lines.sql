-- One row per order line, with its amount by the subtotal rule in force for its order.
with

rules as (
    select
        rule,
        rule_parameters[1] = 1 as is_price_alone,
        rule_parameters[2] = 0 as is_without,
        rule_parameters[3] = 0 as is_per_unit,
        rule_parameters[4] = 0 as is_own,
        case rule_parameters[5] when 1 then 0 when 2 then -1 else 1 end as sign,
        if(rounded_per in ('line', 'unit'), rounding_mode, null) as mode,
        rounded_per = 'unit' as is_rounded_per_unit,
        cast([1, 0.1, 0.01, 0.001][kept_decimals + 1] as decimal(38, 4)) as unit,
    from audit.formula_rules
    where rule_target = 'subtotal'
),

orders as (
    select
        orders.order_id,
        orders.store_id,
        orders.business_date,
        orders.sale_class,
        orders.store_name,
        orders.currency,
        orders.discount,
        in_force.line_rule,
        in_force.line_open_parts,
        rules.* exclude (rule),
    from mart.orders as orders
    inner join audit.order_rules as in_force on orders.order_id = in_force.order_id
    left join rules on in_force.line_rule = rules.rule
),

lines as (
    select
        orders.*,
        sums.line_no,
        sums.product_id,
        sums.name,
        sums.quantity,
        sums.price,
        sums.modifier_count,
        sums.is_whole,
        sums.has_other,
        case
            when quantity = 1 then price
            -- whether it is of a unit or of the line is open
            when line_rule is null or list_contains(line_open_parts, 1) then null
            else if(is_price_alone, divided(price, quantity), price)
        end as unit_price,
        -- most are sold once: nothing to multiply
        if(
            is_price_alone or quantity = 1,
            sums.price,
            cast(sums.price as decimal(38, 4)) * quantity
        ) as product_amount,
        case
            when orders.line_rule is null or not sums.is_whole then null
            -- what candidates that remain treat differently
            when len(line_open_parts) > 0 and list_has_any(
                line_open_parts,
                [
                    if(sums.quantity <> 1 and sums.price <> 0, 1, null),
                    if(sums.has_modifiers, 2, null),
                    if(sums.has_modifiers and sums.quantity <> 1, 3, null),
                    if(sums.has_own, 4, null),
                    if(sums.has_other, 5, null),
                ]
            ) then null
            else product_amount + case
                when is_without or not sums.has_modifiers then 0
                when not sums.has_other and (sums.quantity = 1 or not is_per_unit)
                    then if(is_own, sums.add_own, sums.add_once)
                else if(is_per_unit, sums.quantity, 1) * (
                    if(is_own, sums.add_own, sums.add_once)
                    + sign * if(is_own, sums.other_own, sums.other_once)
                )
            end
        end as exact,
        if(
            is_rounded_per_unit,
            cast(sums.price as decimal(38, 4)) + if(
                is_without,
                0,
                if(is_own, sums.add_own, sums.add_once)
                + sign * if(is_own, sums.other_own, sums.other_once)
            ),
            null
        ) as per_unit,
    from audit.order_line_sums as sums
    inner join orders on sums.order_id = orders.order_id
),

valued as (
    select
        *,
        cast(
            case
                when mode is null or exact is null then exact
                when is_rounded_per_unit then rounded(per_unit, mode, unit) * quantity
                else rounded(exact, mode, unit)
            end as decimal(38, 4)
        ) as line_amount,
        cast(exact - product_amount as decimal(38, 4)) as modifiers_amount,
    from lines
),

-- shares are those of the lines so far, less those before: they add up to the discount
apportioned as (
    select
        *,
        sum(line_amount) over (partition by order_id order by line_no) as so_far,
        sum(line_amount) over (partition by order_id) as whole,
        -- null counts as below zero
        min(coalesce(line_amount, -1)) over (partition by order_id) as least,
        smallest_unit(currency, discount) as smallest,
    from valued
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
    modifier_count,
    -- money
    currency,
    price,
    cast(unit_price as decimal(38, 4)) as unit_price,
    modifiers_amount,
    line_amount,
    cast(
        case
            when discount = 0 then 0
            when least >= 0 and whole > 0 and whole < 1000000000000000 then
                share_of(discount, so_far, whole, smallest)
                - share_of(discount, so_far - line_amount, whole, smallest)
        end as decimal(38, 4)
    ) as discount_share,
    case
        when line_amount is not null then null
        when line_rule is null then 'no_rule'
        when not is_whole then 'missing_input'
        else 'undecided'
    end as missing_amount_reason,
from apportioned
