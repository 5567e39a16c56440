-- One row per store, as its record was last observed.
select
    -- keys
    store_id,
    -- what it is
    document.name as name,
    document.timezone as timezone,
    document.currency as currency,
    document.attributes as attributes,
    is_deleted,
    -- lineage
    _fetched_at,
    _load_id,
    _payload_sha256,
from raw.latest_stores
