-- One row per order whose amount its form does not make: by how much, and its parts.
with lines as (
$lines
)

select
    lines.order_id, lines.node,
    cast(any_value(stated) * $unit as bigint) as stated,
    cast(
        round(
            (
                any_value(stated) - net_of(sum(quantity * per_unit + per_line) + any_value(rest), any_value(factor))
            ) * $unit
        ) as bigint
    ) as residual,
    cast(any_value(unit) * $unit as bigint) as unit,
    $bases
from lines
inner join mart.orders as orders using (order_id)
group by lines.order_id, lines.node
