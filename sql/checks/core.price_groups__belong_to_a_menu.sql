-- Every price group belongs to a menu.
-- severity: blocking
select
    price_groups.menu_id as entity_id,
    'group ' || price_groups.group_no as location,
from core.price_groups as price_groups
anti join core.menus as menus using (menu_id)
