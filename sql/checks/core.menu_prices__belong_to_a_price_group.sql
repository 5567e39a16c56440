-- Every menu price belongs to a price group.
-- severity: blocking
select
    prices.menu_id as entity_id,
    'group ' || prices.group_no || ', price ' || prices.price_no as location,
from core.menu_prices as prices
anti join core.price_groups as price_groups using (menu_id, group_no)
