-- If [menus] product_id_scope is global, a product has the same name in every menu.
-- severity: warning
-- scope: all
with named as (
    select
        menu_id, product_id, name,
        first_value(name) over of_product as first_name,
        first_value(menu_id) over of_product as first_menu_id,
    from core.products
    where name is not null
    window of_product as (partition by product_id order by menu_id)
)

select
    named.menu_id as entity_id,
    'product ' || named.product_id as location,
    'has another name in menu ' || named.first_menu_id as detail,
from named
cross join raw.settings as settings
where settings.menus_product_id_scope = 'global' and named.name <> named.first_name
