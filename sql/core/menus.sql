-- One row per menu, as last observed.
select
    -- keys
    menu_id,
    -- what it is
    document.menu.name as name,
    is_deleted,
    -- lineage
    _fetched_at,
    _load_id,
    _payload_sha256,
from raw.latest_menus
