-- Every store that names a menu has a row in core.stores.
-- severity: blocking
select
    store_menus.store_id as entity_id,
    'menu ' || store_menus.menu_id as location,
from core.store_menus as store_menus
anti join core.stores as stores using (store_id)
