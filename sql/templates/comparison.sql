with both_sides as (
$sides
)

select
    $entity as entity_id,
    concat_ws(', ', $places) as location,
    concat_ws(', ', $details) as detail,
from both_sides
group by $grouped
having $differs
