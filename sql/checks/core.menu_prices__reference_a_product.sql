-- Interface rule 1: every product_id in a price is a key of the menu's products.
-- severity: warning
select
    prices.menu_id as entity_id,
    'group ' || prices.group_no || ', price ' || prices.price_no as location,
    'product ' || prices.product_id as detail,
from core.menu_prices as prices
anti join core.products as products using (menu_id, product_id)
where prices.product_id is not null
