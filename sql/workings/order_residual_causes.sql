-- One row per residual of an order for which there is a likely cause.
--
-- A step: read mart.order_reconciliation instead.
-- Source: workings.order_formula_amounts, mart.orders, audit.formula_populations, mart.order_lines and workings.order_line_sums.
--
-- key: order_id, rule_target
-- scope: order
--
-- likely_cause not null

-- A pattern of its population that the residual follows, else the only candidate that explains it exactly.
with residuals as (
    select
        order_id,
        unnest([
            {
                'rule_target': 'subtotal', 'residual': subtotal_residual, 'expected': formula_subtotal,
                'rule': subtotal_rule, 'population_no': subtotal_population_no,
            },
            {
                'rule_target': 'total', 'residual': total_residual, 'expected': formula_total, 'rule': total_rule,
                'population_no': total_population_no,
            },
        ], recursive := true),
    from workings.order_formula_amounts where subtotal_residual <> 0 or total_residual <> 0
),
breaks as materialized (
    select
        residuals.*, orders.currency, orders.subtotal_price, orders.delivery_price, orders.tip,
        orders.discount, orders.loyalty_discount,
        cast(
            if(residuals.rule_target = 'total', orders.total_price, orders.subtotal_price) as decimal(38, 4)
        ) as stated,
        smallest_unit(orders.currency, stated) as unit,
    from mart.orders as orders inner join residuals using (order_id) where residuals.residual <> 0
),
broken_lines as (
    select
        breaks.order_id, breaks.rule_target,
        bool_or(abs(lines.line_amount) = abs(breaks.residual)) as is_a_line,
    from mart.order_lines as lines
    inner join breaks using (order_id)
    group by breaks.order_id, breaks.rule_target
),
-- wider than a part: any line's amounts
broken_modifiers as (
    select
        breaks.order_id, breaks.rule_target,
        [
            abs(sum(if(is_whole, quantity, null) * (add_own + other_own))),
            abs(sum(if(is_whole, quantity, null) * (add_once + other_once))),
            abs(sum(add_own + other_own)),
            abs(sum(add_once + other_once)),
        ] as sums,
    from workings.order_line_sums as lines
    inner join breaks using (order_id)
    group by breaks.order_id, breaks.rule_target
    having bool_and(lines.is_whole)
),
-- what the orders have in common that their population's rule does not fit
patterns as (
    select
        breaks.order_id, breaks.rule_target,
        case populations.residual_kind
            when 'zero' then 'zero_stated'
            when 'constant' then 'constant_amount'
            when 'unit' then 'rounding'
            when 'step' then 'rounding_step'
            when 'negated' then null
            else 'share_of_a_base'
        end as cause,
    from breaks inner join audit.formula_populations as populations using (rule_target, population_no)
    where follows(populations, breaks, breaks.stated, breaks.residual, breaks.unit)
),
explained as (
    select
        breaks.order_id, breaks.rule_target,
        if(breaks.rule_target = 'total', rules.rule_parameters, null) as signs,
        list_filter(
            [
                if(abs(residual) = abs(tip), 'tip', null),
                if(abs(residual) = abs(delivery_price), 'delivery', null),
                if(abs(residual) = abs(discount), 'discount', null),
                if(abs(residual) = abs(loyalty_discount), 'loyalty_discount', null),
                if(list_contains(broken_modifiers.sums, abs(residual)), 'modifiers', null),
                if(is_a_line, 'line', null),
                -- less than a unit apart
                if(
                    abs(residual) < 1
                    and list_contains(
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
                        abs(stated) = abs(expected) * 100 or abs(stated) * 100 = abs(expected)
                    ),
                    'factor_of_100',
                    null
                ),
                if(stated = -expected, 'sign', null),
                if(residual = -2 * signs[2] * delivery_price, 'sign_of_delivery', null),
                if(residual = -2 * signs[3] * tip, 'sign_of_tip', null),
                if(residual = -2 * signs[4] * discount, 'sign_of_discount', null),
                if(residual = -2 * signs[5] * loyalty_discount, 'sign_of_loyalty_discount', null),
            ],
            lambda cause: cause is not null
        ) as causes,
    from breaks
    left join broken_modifiers using (order_id, rule_target)
    left join broken_lines using (order_id, rule_target)
    inner join audit.formula_rules as rules using (rule_target, rule)
)

select
    explained.order_id, explained.rule_target,
    coalesce(patterns.cause, if(len(explained.causes) = 1, explained.causes[1], null)) as likely_cause,
from explained
left join patterns using (order_id, rule_target)
where patterns.cause is not null or len(explained.causes) = 1
