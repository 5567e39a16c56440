-- Every menu price belongs to a price group.
-- severity: blocking
select
    prices.menu_id as entity_id,
    'group ' || prices.group_no || ', price ' || prices.price_no as location,
from core.menu_prices as prices
anti join core.price_groups as price_groups
    on prices.menu_id = price_groups.menu_id
    and prices.group_no = price_groups.group_no
