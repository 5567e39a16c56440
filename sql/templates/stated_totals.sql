-- One row per order of a sample of a population: its total, and the parts of it.
select
    $columns
    cast((orders.total_price - coalesce(components.amount, 0)) * $unit as bigint) as stated,
    cast(smallest_unit(orders.currency, orders.total_price) * $unit as bigint) as unit,
    $bases
from facts
inner join mart.orders as orders using (order_id)
left join (
    select order_id, sum(amount) as amount from workings.order_components group by order_id
) as components on facts.order_id = components.order_id
where facts.node = $node
order by hash(facts.order_id), facts.order_id
$limit
