-- No two price groups of a menu have the same id.
-- severity: warning
select
    menu_id as entity_id,
    'group ' || group_no as location,
    'group id ' || price_group_id as detail,
from core.price_groups
where price_group_id is not null
qualify count(*) over (partition by menu_id, price_group_id) > 1
