-- One row per order whose total is off from its population's rule as many others are: no rule is in force for it.
--
-- A step: read audit.order_rules instead.
-- Source: workings.order_populations, audit.formula_populations, workings.total_patterns, mart.orders, workings.order_components.
-- Caveats: where settings name a rule that most orders do not follow, what differs is a break.
--
-- key: order_id
-- scope: order

-- A pattern that so many orders follow that they would distinguish a rule is a rule that
-- nobody has stated yet: whether they are right is unknown.
with components as (select order_id, sum(amount) as amount from workings.order_components group by order_id),
populations as (
    -- no counts: where nothing but these changed, no order does
    select
        populations.population_no, populations.form_no, populations.residual_kind, populations.residual_value,
        populations.residual_base, populations.residual_bound, forms.rule_parameters as signs,
    from audit.formula_populations as populations
    inner join workings.formula_forms as forms using (rule_target, form_no)
    where populations.rule_target = 'total' and populations.is_pattern_open
),
differing as (
    select
        orders.order_id, orders.subtotal_price, orders.delivery_price, orders.tip, orders.discount,
        orders.loyalty_discount, orders.total_price, populations.residual_kind, populations.residual_value,
        populations.residual_base, populations.residual_bound,
        smallest_unit(orders.currency, orders.total_price) as unit,
        cast(orders.total_price as decimal(38, 8))
        - signs[1] * orders.subtotal_price
        - signs[2] * orders.delivery_price
        - signs[3] * orders.tip
        - signs[4] * orders.discount
        - signs[5] * orders.loyalty_discount
        - coalesce(components.amount, 0) as residual,
    from workings.order_populations as placed
    inner join populations on placed.total_population_no = populations.population_no
    inner join workings.total_patterns as patterns on placed.order_id = patterns.order_id
    inner join mart.orders as orders on placed.order_id = orders.order_id
    left join components on orders.order_id = components.order_id
    where patterns.fits[populations.form_no] = '0'
)

select order_id,
from differing
where follows(differing, differing, total_price, residual, unit)
