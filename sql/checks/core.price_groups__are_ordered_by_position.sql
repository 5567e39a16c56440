-- The price groups of a menu are listed by rising position.
-- severity: warning
select
    menu_id as entity_id,
    'group ' || group_no as location,
    'position ' || position as detail,
from core.price_groups
qualify position < lag(position) over (partition by menu_id order by group_no)
