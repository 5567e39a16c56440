-- Every modifier belongs to a menu.
-- severity: blocking
select
    modifiers.menu_id as entity_id,
    'modifier ' || modifiers.modifier_id as location,
from core.modifiers as modifiers
anti join core.menus as menus using (menu_id)
