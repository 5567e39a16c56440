-- One row per menu, as last observed.
--
-- Source: get menu details.
-- Caveats: the menu as it is now, not as it was when an order was placed. core.store_menus has the stores that use it.
--
-- key: menu_id
-- scope: menu
--
-- name: The menu's name.
select
    menu_id,
    document.menu.name as name,
    is_deleted, _fetched_at, _load_id, _payload_sha256,
from raw.latest_menus
