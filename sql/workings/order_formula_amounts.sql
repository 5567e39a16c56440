-- One row per order: what its subtotal and its total come to by the rules in force for it.
--
-- A step: read mart.order_reconciliation instead.
-- Source: mart.orders, mart.order_lines, workings.order_components and audit.order_rules.
--
-- key: order_id
-- scope: order
--
-- has_lines BOOLEAN: Whether it has a line.
-- has_line_sum BOOLEAN: Whether it has lines, all of them with an amount.
with rules as (
    select
        rule_target, rule,
        -- how often the total counts the subtotal, the delivery charge, the tip, the discount, the loyalty discount
        if(rule_target = 'total', rule_parameters, null) as signs,
        signs[1] as subtotal_sign,
        signs[2] as delivery_sign,
        signs[3] as tip_sign,
        signs[4] as discount_sign,
        signs[5] as loyalty_sign,
        -- how often the subtotal counts the discount
        if(rule_target = 'subtotal', [0, -1, 1][rule_parameters[6] + 1], null) as subtotal_discount_sign,
        if(rounded_per = 'order', rounding_mode, null) as mode,
        cast([1, 0.1, 0.01, 0.001][kept_decimals + 1] as decimal(38, 8)) as unit,
    from audit.formula_rules
),
components as (
    select
        order_id,
        if(count(*) = count(amount), sum(amount), null) as amount, -- null: one is unknown
        count(price_factor) > 0 as has_factor,
        if(
            bool_and(price_factor is null or amount is not null), arg_max(price_factor, component_no), null
        ) as factor,
        arg_max(nullif(step, 0), component_no) as step,
    from workings.order_components group by order_id
),
contents as (
    select
        order_id, sum(line_amount) as line_amount,
        count(*) = count(line_amount) as has_all_amounts,
    from mart.order_lines group by order_id
),
-- Sums are wider than a part: those of 14-digit amounts must not overflow. A part that the
-- rule does not count may be missing.
parts as (
    select
        orders.order_id, orders.subtotal_price, orders.total_price, in_force.subtotal_rule, in_force.total_rule,
        in_force.subtotal_population_no, in_force.total_population_no,
        contents.order_id is not null as has_lines,
        contents.line_amount as line_amount,
        if(contents.has_all_amounts, contents.line_amount, null) as line_sum,
        -- amounts of common size are added up in 18 digits, which is several times faster
        coalesce(
            cast(
                signed(totals.subtotal_sign, try_cast(subtotal_price as decimal(14, 4)))
                + signed(totals.delivery_sign, try_cast(delivery_price as decimal(14, 4)))
                + signed(totals.tip_sign, try_cast(tip as decimal(14, 4)))
                + signed(totals.discount_sign, try_cast(discount as decimal(14, 4)))
                + signed(totals.loyalty_sign, try_cast(loyalty_discount as decimal(14, 4)))
                as decimal(38, 4)
            ),
            cast(signed(totals.subtotal_sign, subtotal_price) as decimal(38, 4))
            + signed(totals.delivery_sign, delivery_price)
            + signed(totals.tip_sign, tip)
            + signed(totals.discount_sign, discount)
            + signed(totals.loyalty_sign, loyalty_discount)
        ) as parts_total,
        signed(totals.tip_sign, tip) as tip_in_total,
        components.order_id is not null as has_component,
        components.amount as components_amount, components.step,
        if(components.has_factor, components.factor, 1) as factor,
        smallest_unit(orders.currency, orders.subtotal_price) as stated_unit,
        line_sum + signed(subtotals.subtotal_discount_sign, discount) as parts_subtotal,
        totals.mode as total_mode, totals.unit as total_unit, subtotals.mode as subtotal_mode,
        subtotals.unit as subtotal_unit,
    from audit.order_rules as in_force
    inner join mart.orders as orders using (order_id)
    left join rules as totals on totals.rule_target = 'total' and in_force.total_rule = totals.rule
    left join rules as subtotals on subtotals.rule_target = 'subtotal' and in_force.subtotal_rule = subtotals.rule
    left join contents using (order_id)
    left join components using (order_id)
)

select
    order_id, subtotal_rule, subtotal_population_no, total_rule, total_population_no, has_lines,
    line_sum is not null as has_line_sum,
    line_amount,
    -- by the rules: eight decimals only where they are needed; what is left of prices is
    -- rounded as the rule says, else half up
    case
        when subtotal_mode is null and factor = 1 then parts_subtotal
        when subtotal_mode is null and factor = -1 then -parts_subtotal
        else cast(
            rounded(
                net_of(parts_subtotal, factor),
                coalesce(subtotal_mode, 'half_up'),
                coalesce(subtotal_unit, cast(stated_unit as decimal(38, 8)))
            ) as decimal(38, 4)
        )
    end as formula_subtotal,
    subtotal_price - formula_subtotal as subtotal_residual,
    case
        when total_mode is null and not has_component then parts_total
        when total_mode is null and step is null then cast(parts_total + components_amount as decimal(38, 4))
        else cast(
            rounded(
                parts_total + if(has_component, components_amount, 0),
                if(step is null, total_mode, 'half_up'),
                coalesce(cast(step as decimal(38, 8)), total_unit)
            ) as decimal(38, 4)
        )
    end as formula_total,
    total_price - formula_total as total_residual,
    cast(tip_in_total as decimal(18, 4)) as tip_in_total,
    cast(if(has_component, components_amount, 0) as decimal(38, 4)) as components_amount,
from parts
