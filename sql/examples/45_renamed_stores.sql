-- When was a store renamed, and when was it last listed?
select
    store_id,
    version_no,
    name,
    first_listed_at,
    last_listed_at,
from core.store_versions
order by store_id, version_no
