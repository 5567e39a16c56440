-- One row per order: its total beside its parts, its subtotal beside its lines.
--
-- Both by the rules in force for the order; what may explain a residual is looked for
-- only where there is one.
with

rules as (
    select
        rule_target,
        rule,
        -- how often the total counts the subtotal, the delivery charge, the tip, the
        -- discount, the loyalty discount
        if(rule_target = 'total', rule_parameters, null) as signs,
        signs[1] as subtotal_sign,
        signs[2] as delivery_sign,
        signs[3] as tip_sign,
        signs[4] as discount_sign,
        signs[5] as loyalty_sign,
        -- how often the subtotal counts the discount
        if(rule_target = 'subtotal', [0, -1, 1][rule_parameters[6] + 1], null)
            as subtotal_discount_sign,
        if(rounded_per = 'order', rounding_mode, null) as mode,
        cast([1, 0.1, 0.01, 0.001][kept_decimals + 1] as decimal(38, 8)) as unit,
    from audit.formula_rules
),

components as (
    select order_id, sum(amount) as amount from audit.order_components group by order_id
),

contents as (
    select
        order_id,
        sum(line_amount) as line_amount,
        count(*) = count(line_amount) as has_all_amounts,
    from mart.order_lines
    group by order_id
),

-- Sums start wider than a part: those of 14-digit amounts must not overflow. A part that
-- the rule does not count may be missing.
parts as (
    select
        orders.order_id,
        orders.store_id,
        orders.business_date,
        orders.sale_class,
        orders.currency,
        orders.subtotal_price,
        orders.delivery_price,
        orders.tip,
        orders.discount,
        orders.loyalty_discount,
        orders.total_price,
        in_force.subtotal_rule,
        in_force.total_rule,
        in_force.subtotal_population_no,
        in_force.total_population_no,
        contents.order_id is not null as has_lines,
        contents.line_amount as line_amount,
        if(contents.has_all_amounts, contents.line_amount, null) as line_sum,
        cast(
            case totals.subtotal_sign
                when 1 then subtotal_price
                when 0 then 0
                when -1 then -subtotal_price
            end as decimal(38, 8)
        )
            + case totals.delivery_sign
                when 1 then delivery_price
                when 0 then 0
                when -1 then -delivery_price
            end
            + case totals.tip_sign when 1 then tip when 0 then 0 when -1 then -tip end
            + case totals.discount_sign when 1 then discount when 0 then 0 when -1 then -discount end
            + case totals.loyalty_sign
                when 1 then loyalty_discount
                when 0 then 0
                when -1 then -loyalty_discount
            end
            + coalesce(components.amount, 0) as exact_total, -- no row: no component
        cast(
            line_sum + case subtotals.subtotal_discount_sign
                when 1 then discount
                when 0 then 0
                when -1 then -discount
            end as decimal(38, 8)
        ) as exact_subtotal,
        totals.mode as total_mode,
        totals.unit as total_unit,
        subtotals.mode as subtotal_mode,
        subtotals.unit as subtotal_unit,
    from mart.orders as orders
    inner join audit.order_rules as in_force on orders.order_id = in_force.order_id
    left join contents on orders.order_id = contents.order_id
    left join components on orders.order_id = components.order_id
    left join rules as totals
        on totals.rule_target = 'total'
        and in_force.total_rule = totals.rule
    left join rules as subtotals
        on subtotals.rule_target = 'subtotal'
        and in_force.subtotal_rule = subtotals.rule
),

compared as (
    select
        order_id,
        store_id,
        business_date,
        sale_class,
        currency,
        subtotal_price,
        delivery_price,
        tip,
        discount,
        loyalty_discount,
        total_price,
        subtotal_rule,
        total_rule,
        subtotal_population_no,
        total_population_no,
        has_lines,
        line_amount,
        line_sum is not null as has_line_sum,
        cast(
            if(total_mode is null, exact_total, rounded(exact_total, total_mode, total_unit))
            as decimal(38, 4)
        ) as formula_total,
        cast(
            if(
                subtotal_mode is null,
                exact_subtotal,
                rounded(exact_subtotal, subtotal_mode, subtotal_unit)
            ) as decimal(38, 4)
        ) as formula_subtotal,
        total_price - formula_total as total_residual,
        subtotal_price - formula_subtotal as subtotal_residual,
    from parts
),

breaks as (
    select
        order_id,
        'total' as part,
        cast(total_price as decimal(38, 4)) as stated,
        formula_total as expected,
        total_residual as residual,
        delivery_price as delivery,
        tip,
        discount,
        loyalty_discount as loyalty,
        total_rule as rule,
        total_population_no as population_no,
        subtotal_price as subtotal,
        currency,
    from compared
    where total_residual <> 0

    union all

    select
        order_id,
        'subtotal' as part,
        cast(subtotal_price as decimal(38, 4)) as stated,
        formula_subtotal as expected,
        subtotal_residual as residual,
        delivery_price,
        tip,
        discount,
        loyalty_discount,
        subtotal_rule,
        subtotal_population_no,
        subtotal_price,
        currency,
    from compared
    where subtotal_residual <> 0
),

broken_lines as (
    select
        breaks.order_id,
        breaks.part,
        bool_or(abs(lines.line_amount) = abs(breaks.residual)) as is_a_line,
    from breaks
    inner join mart.order_lines as lines on breaks.order_id = lines.order_id
    group by breaks.order_id, breaks.part
),

-- wider than a part: any line's amounts
broken_modifiers as (
    select
        breaks.order_id,
        breaks.part,
        [
            abs(sum(if(is_whole, quantity, null) * (add_own + other_own))),
            abs(sum(if(is_whole, quantity, null) * (add_once + other_once))),
            abs(sum(add_own + other_own)),
            abs(sum(add_once + other_once)),
        ] as sums,
    from breaks
    inner join audit.order_line_sums as lines on breaks.order_id = lines.order_id
    group by breaks.order_id, breaks.part
    having bool_and(lines.is_whole)
),

-- what the orders have in common that their population's rule does not fit
patterns as (
    select
        breaks.order_id,
        breaks.part,
        case
            when populations.residual_kind = 'zero' and breaks.stated = 0 then 'zero_stated'
            when populations.residual_kind = 'constant'
                and breaks.residual = populations.residual_value then 'constant_amount'
            when populations.residual_kind = 'share'
                and abs(
                    breaks.residual
                    - cast(
                        populations.residual_value * case populations.residual_base
                            when 'subtotal' then breaks.subtotal
                            when 'subtotal_less_discount'
                                then breaks.subtotal - breaks.discount
                            when 'delivery' then breaks.delivery
                            when 'tip' then breaks.tip
                            when 'discount' then breaks.discount
                            when 'loyalty' then breaks.loyalty
                        end as decimal(38, 8)
                    )
                ) <= smallest_unit(breaks.currency, breaks.stated) then 'share_of_a_base'
            when populations.residual_kind = 'step'
                and breaks.stated % populations.residual_value = 0
                and abs(breaks.residual) < populations.residual_value then 'rounding_step'
        end as cause,
    from breaks
    inner join audit.formula_populations as populations
        on breaks.part = populations.rule_target
        and breaks.population_no = populations.population_no
),

explained as (
    select
        breaks.order_id,
        breaks.part,
        list_filter(
            [
                if(abs(residual) = abs(tip), 'tip', null),
                if(abs(residual) = abs(delivery), 'delivery', null),
                if(abs(residual) = abs(discount), 'discount', null),
                if(abs(residual) = abs(loyalty), 'loyalty_discount', null),
                if(list_contains(broken_modifiers.sums, abs(residual)), 'modifiers', null),
                if(is_a_line, 'line', null),
                if(
                    list_contains(
                        flatten(
                            list_transform(
                                [1.000, 0.100, 0.010, 0.001],
                                lambda unit: [
                                    rounded(expected, 'half_up', unit),
                                    rounded(expected, 'half_even', unit),
                                    rounded(expected, 'down', unit),
                                ]
                            )
                        ),
                        stated
                    ),
                    'rounding',
                    null
                ),
                if(
                    expected <> 0
                    and (
                        abs(stated) = abs(expected) * 100
                        or abs(stated) * 100 = abs(expected)
                    ),
                    'factor_of_100',
                    null
                ),
                if(stated = -expected, 'sign', null),
                if(residual = -2 * signs[2] * delivery, 'sign_of_delivery', null),
                if(residual = -2 * signs[3] * tip, 'sign_of_tip', null),
                if(residual = -2 * signs[4] * discount, 'sign_of_discount', null),
                if(
                    residual = -2 * signs[5] * loyalty,
                    'sign_of_loyalty_discount',
                    null
                ),
            ],
            lambda cause: cause is not null
        ) as causes,
    from breaks
    left join broken_modifiers
        on breaks.order_id = broken_modifiers.order_id
        and breaks.part = broken_modifiers.part
    left join broken_lines
        on breaks.order_id = broken_lines.order_id
        and breaks.part = broken_lines.part
    inner join rules on breaks.part = rules.rule_target and breaks.rule = rules.rule
),

causes as (
    select
        order_id,
        any_value(cause) filter (where part = 'total') as total_likely_cause,
        any_value(cause) filter (where part = 'subtotal') as subtotal_likely_cause,
    from (
        select
            explained.order_id,
            explained.part,
            coalesce(
                patterns.cause,
                if(len(explained.causes) = 1, explained.causes[1], null)
            ) as cause,
        from explained
        left join patterns
            on explained.order_id = patterns.order_id
            and explained.part = patterns.part
    )
    where cause is not null
    group by order_id
)

select
    -- keys
    compared.order_id,
    compared.store_id,
    compared.business_date,
    compared.sale_class,
    -- money as sent
    compared.currency,
    compared.subtotal_price,
    compared.delivery_price,
    compared.tip,
    compared.discount,
    compared.loyalty_discount,
    compared.total_price,
    -- the lines
    compared.line_amount,
    -- a subtotal that is not stated, and lines without an amount, add nothing here
    coalesce(compared.subtotal_price, 0) - coalesce(compared.line_amount, 0)
        as unallocated_amount,
    compared.subtotal_rule,
    compared.formula_subtotal,
    compared.subtotal_residual,
    causes.subtotal_likely_cause,
    -- the total
    compared.total_rule,
    compared.formula_total,
    compared.total_residual,
    causes.total_likely_cause,
    -- the answer
    if(
        compared.subtotal_price is null
        or compared.delivery_price is null
        or compared.tip is null
        or compared.discount is null
        or compared.loyalty_discount is null
        or compared.total_price is null,
        list_filter(
            [
                if(compared.subtotal_price is null, 'subtotal_price', null),
                if(compared.delivery_price is null, 'delivery_price', null),
                if(compared.tip is null, 'tip', null),
                if(compared.discount is null, 'discount', null),
                if(compared.loyalty_discount is null, 'loyalty_discount', null),
                if(compared.total_price is null, 'total_price', null),
            ],
            lambda part: part is not null
        ),
        []
    ) as missing_parts,
    case
        when total_residual <> 0 and subtotal_residual <> 0 then 'both_break'
        when total_residual <> 0 then 'total_break'
        when subtotal_residual <> 0 then 'subtotal_break'
        when total_residual = 0 and subtotal_residual = 0 then 'balanced'
        else 'indeterminate'
    end as verdict,
    if(
        total_residual is not null and subtotal_residual is not null,
        null,
        concat_ws(
            '; ',
            case
                when total_residual is not null then null
                when compared.total_rule is null
                    then 'total: no rule is in force'
                else 'total: a price field is missing'
            end,
            case
                when subtotal_residual is not null then null
                when compared.subtotal_rule is null
                    then 'subtotal: no rule is in force'
                when compared.subtotal_price is null then 'subtotal: not stated'
                when not compared.has_lines then 'subtotal: no lines'
                when not compared.has_line_sum then 'subtotal: a line has no amount'
                else 'subtotal: discount not stated'
            end
        )
    ) as reason,
from compared
left join causes on compared.order_id = causes.order_id
