-- The $entity's rows have the counts and sums that validation took from its document.
-- severity: blocking
with $lines

compared as (
    select
        latest.$key,
        own.$key is null as is_lost,
        list_filter([$differences], lambda part: part.difference <> 0)[1] as part,
    from raw.latest_$kind as latest
    left join $own as own on latest.$key = own.$key
$joins
)

select
    $key as entity_id,
    if(is_lost, '$entity', part.location) as location,
    if(is_lost or part.is_count, null, part.difference) as residual,
from compared
where is_lost or part is not null
