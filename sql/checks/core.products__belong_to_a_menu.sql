-- Every product belongs to a menu.
-- severity: blocking
select
    products.menu_id as entity_id,
    'product ' || products.product_id as location,
from core.products as products
anti join core.menus as menus using (menu_id)
