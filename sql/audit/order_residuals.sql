-- One row per residual of an order that is not zero, with what may explain it.
--
-- A step: read audit.breaks instead.
-- Source: audit.order_formula_amounts and mart.orders.
--
-- key: order_id, rule_target
-- scope: order
--
-- rule not null: Its rule, as in audit.order_rules.
-- residual: stated less expected.
-- expected DECIMAL(38,4): What it comes to by the rule.
-- stated DECIMAL(38,4): The subtotal or total, as sent.
with residuals as (
    select
        order_id,
        unnest([
            {
                'rule_target': 'subtotal',
                'residual': subtotal_residual,
                'expected': formula_subtotal,
                'rule': subtotal_rule,
                'population_no': subtotal_population_no,
            },
            {
                'rule_target': 'total',
                'residual': total_residual,
                'expected': formula_total,
                'rule': total_rule,
                'population_no': total_population_no,
            },
        ], recursive := true),
    from audit.order_formula_amounts
    where subtotal_residual <> 0 or total_residual <> 0
)

select
    residuals.order_id,
    residuals.rule_target,
    -- its rule
    residuals.rule,
    residuals.population_no,
    -- money
    orders.currency,
    residuals.residual,
    residuals.expected,
    cast(
        if(residuals.rule_target = 'total', orders.total_price, orders.subtotal_price)
        as decimal(38, 4)
    ) as stated,
    orders.subtotal_price,
    orders.delivery_price,
    orders.tip,
    orders.discount,
    orders.loyalty_discount,
from mart.orders as orders
inner join residuals using (order_id)
where residuals.residual <> 0
