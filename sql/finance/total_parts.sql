-- One row per order: the parts of its total by the rule in force for it, with signs.
--
-- The parts and the residual add up to the total, exactly: an amount that the rule itself rounds away is a part. Null
-- without a rule, or if a part is not stated. A part that the rule does not count, or that is zero, is left out.
with rules as (select rule, rule_parameters as signs from audit.formula_rules where rule_target = 'total'),
components as (
    select
        order_id,
        list(
            {'part': 'component:' || name, 'amount': cast(round(amount, 4) as decimal(38, 4))}
            order by component_no
        ) filter (where amount <> 0) as parts, -- a factor of prices or a step adds nothing
    from workings.order_components group by order_id
),
breaks as (select order_id, any_value(content) as content from audit.breaks group by order_id),
counted as (
    select
        sums.order_id, sums.formula_total, sums.total_residual, sums.total_rule, breaks.content,
        list_filter(
            [
                {'part': 'subtotal_price', 'amount': signs[1] * sums.subtotal_price},
                {'part': 'delivery_price', 'amount': signs[2] * sums.delivery_price},
                {'part': 'tip', 'amount': signs[3] * sums.tip},
                {'part': 'discount', 'amount': signs[4] * sums.discount},
                {'part': 'loyalty_discount', 'amount': signs[5] * sums.loyalty_discount},
            ],
            lambda each: each.amount <> 0
        ) || coalesce(components.parts, []) as counted_parts,
        sums.formula_total - list_sum(list_transform(counted_parts, lambda each: each.amount)) as rounding_amount,
    from mart.order_reconciliation as sums
    left join rules on sums.total_rule = rules.rule
    left join components using (order_id)
    left join breaks using (order_id)
),
completed as (
    select
        *,
        if(
            coalesce(rounding_amount, 0) = 0,
            counted_parts,
            counted_parts || [{'part': 'rounding', 'amount': rounding_amount}]
        ) as all_parts,
    from counted
)

select
    order_id, total_rule,
    if(formula_total is null, null, list_transform(all_parts, lambda each: each.part)) as total_parts,
    if(formula_total is null, null, list_transform(all_parts, lambda each: each.amount)) as total_part_amounts,
    total_residual, content as break_content,
from completed
