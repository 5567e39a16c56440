-- Every menu that a store names was observed.
-- severity: warning
select
    store_menus.store_id as entity_id,
    'menu ' || store_menus.menu_id as location,
from core.store_menus as store_menus
anti join core.menus as menus using (menu_id)
