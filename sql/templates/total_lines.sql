-- One row per order of a population: what its form makes of the total.
select
    facts.order_id, facts.node, facts.pattern_no, orders.total_price as stated,
    smallest_unit(orders.currency, orders.total_price) as unit,
    currency_digits(orders.currency) as digits,
    cast(0 as decimal(38, 4)) as rest,
    cast(1 as decimal(18, 0)) as quantity,
    cast(0 as decimal(38, 8)) as per_unit,
    cast(leaves.parameters[1] * orders.subtotal_price as decimal(38, 8))
        + leaves.parameters[2] * orders.delivery_price
        + leaves.parameters[3] * orders.tip
        + leaves.parameters[4] * orders.discount
        + leaves.parameters[5] * orders.loyalty_discount
        + coalesce(components.amount, 0) as per_line,
    false as is_by_unit,
    cast(1 as decimal(18, 4)) as factor,
from facts
inner join leaves using (node)
inner join wanted using (order_id)
inner join mart.orders as orders using (order_id)
left join (
    select order_id, sum(amount) as amount from workings.order_components group by order_id
) as components on facts.order_id = components.order_id
