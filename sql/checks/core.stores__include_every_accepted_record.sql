-- Every accepted store record has a row.
-- severity: blocking
select
    latest.store_id as entity_id,
from raw.latest_stores as latest
anti join core.stores as stores using (store_id)
