-- No two prices of a menu have the same id.
-- severity: warning
select
    menu_id as entity_id,
    'group ' || group_no || ', price ' || price_no as location,
    'price id ' || price_id as detail,
from core.menu_prices
where price_id is not null
qualify count(*) over (partition by menu_id, price_id) > 1
