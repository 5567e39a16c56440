-- At least one menu of every store was observed.
-- severity: warning
with known as (
    select store_menus.store_id,
    from core.store_menus as store_menus inner join core.menus as menus using (menu_id)
)

select
    stores.store_id as entity_id, 'menu_ids' as location,
from core.stores as stores
anti join known using (store_id)
