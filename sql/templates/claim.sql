-- $claim
-- severity: $severity
select
    t.$entity as entity_id,
    $location as location,
    $detail
from $table as t
$join using ($columns)
where $stated
