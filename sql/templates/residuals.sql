-- One row per order whose amount its form does not make: by how much, and its parts.
with lines as (
$lines
)

select
    lines.order_id,
    lines.node,
    cast(any_value(stated) * $unit as bigint) as stated,
    cast(
        round(
            (
                any_value(stated)
                - net_of(
                    sum(quantity * per_unit + per_line) + any_value(rest), any_value(factor)
                )
            ) * $unit
        ) as bigint
    ) as residual,
    cast(any_value(unit) * $unit as bigint) as unit,
    cast(any_value(orders.subtotal_price) * $unit as bigint) as subtotal,
    cast(any_value(orders.subtotal_price - orders.discount) * $unit as bigint)
        as subtotal_less_discount,
    cast(any_value(orders.delivery_price) * $unit as bigint) as delivery,
    cast(any_value(orders.tip) * $unit as bigint) as tip,
    cast(any_value(orders.discount) * $unit as bigint) as discount,
    cast(any_value(orders.loyalty_discount) * $unit as bigint) as loyalty,
from lines
inner join mart.orders as orders using (order_id)
group by lines.order_id, lines.node
