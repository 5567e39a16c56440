-- A store's record never states another currency: its older orders would get the new one.
-- severity: warning
select
    store_id as entity_id, 'currency' as location,
    'stated so far: ' || string_agg(distinct currency, ', ' order by currency) as detail,
from core.store_versions
group by store_id
having count(distinct currency) > 1
