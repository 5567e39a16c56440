-- One row per product in a menu's products dictionary.
--
-- Source: products of get menu details.
-- Caveats: several menus may have the same product_id under different names; [menus] product_id_scope says whether it
-- is the same product. Join by menu_id and product_id; orders name no menu, so use mart.products for them.
--
-- key: menu_id, product_id
-- scope: menu
-- in core.menus (menu_id), blocking belong_to_a_menu: Every product belongs to a menu.
-- join core.menus (menu_id): a product has its menu
--
-- product_id not null: The product: its key in the dictionary.
-- name: The product's name.
-- description: The product's description.
-- dispatch_method: How the product can be dispatched, as sent (the interface's example: both; audit.vocabulary has the values seen).
with entries as (
    select
        menu_id,
        unnest(map_entries(document.products)) as entry,
        _load_id,
    from raw.latest_menus
)

select
    menu_id,
    -- the gate lets only canonical integers through
    cast(entry.key as bigint) as product_id,
    entry.value.name as name,
    entry.value.description as description,
    entry.value.dispatch_method as dispatch_method,
    _load_id,
from entries
