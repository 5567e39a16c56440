-- One row per order of a population, and line: what its form makes of the subtotal.
select
    facts.order_id, facts.node, facts.pattern_no, orders.subtotal_price as stated,
    smallest_unit(orders.currency, orders.subtotal_price) as unit,
    currency_digits(orders.currency) as digits,
    [0, -1, 1][leaves.parameters[6] + 1] * orders.discount as rest,
    coalesce(leaves.parameters[2], 0) = 1 as is_counted,
    leaves.parameters[3] = 0 as is_per_unit,
    cast(lines.quantity as decimal(18, 0)) as quantity,
    case leaves.parameters[5] when 1 then 0 when 2 then -1 else 1 end as sign,
    if(leaves.parameters[4] = 1, lines.add_once, lines.add_own)
        + sign * if(leaves.parameters[4] = 1, lines.other_once, lines.other_own) as added,
    -- what is counted for each unit, and what once for the line
    cast(if(leaves.parameters[1] = 0, lines.price, 0) as decimal(38, 4))
        + if(is_counted and is_per_unit, added, 0) as per_unit,
    cast(if(leaves.parameters[1] = 1, lines.price, 0) as decimal(38, 4))
        + if(is_counted and not is_per_unit, added, 0) as per_line,
    leaves.parameters[1] = 0 and not (is_counted and not is_per_unit) as is_by_unit,
    coalesce(factors.price_factor, 1) as factor, -- none: prices are what is stated
from facts
inner join leaves using (node)
inner join wanted using (order_id)
inner join mart.orders as orders using (order_id)
inner join workings.order_line_sums as lines using (order_id)
left join (
    select order_id, arg_max(price_factor, component_no) as price_factor,
    from workings.order_components group by order_id
) as factors on facts.order_id = factors.order_id
