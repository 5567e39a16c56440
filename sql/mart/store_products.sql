-- One row per store and product that the store sold or has on a menu, with its menu name.
--
-- Source: core.store_menus, core.products and mart.product_mix. By [menus] product_id_scope, names come from every
-- menu (global) or only from the store's own (per_menu).
-- Caveats: the current name; mart.product_mix has the name when ordered. If menus disagree (name_count above 1), the
-- store's own menus take precedence, then the lowest menu_id.
--
-- key: store_id, product_id
--
-- store_id not null: The store, as the service numbers it.
-- product_id not null: The product's id, from a menu or an order line.
-- product_name: The product's name; null if no menu in scope has one.
-- is_on_menu: Whether a menu of this store has the product now.
-- menu_count BIGINT >= 0: Number of menus in scope that have it.
-- name_count BIGINT >= 0: Number of different names on those menus; above 1 one was chosen.
with offered as (
    select store_menus.store_id, products.product_id, products.menu_id, products.name,
    from core.store_menus as store_menus
    inner join core.products as products using (menu_id)
),

own as (
    select
        store_id, product_id,
        arg_min(name, menu_id) as name, -- ignores menus without a name
        count(*) as menu_count,
        count(distinct name) as name_count,
    from offered
    group by store_id, product_id
),

anywhere as (
    select
        product_id,
        arg_min(name, menu_id) as name, -- ignores menus without a name
        count(*) as menu_count,
        count(distinct name) as name_count,
    from core.products
    group by product_id
),

known as (
    select store_id, product_id from own
    union
    select store_id, product_id
    from mart.product_mix
    where store_id is not null and product_id is not null
)

select
    known.store_id,
    known.product_id,
    -- product
    coalesce(
        own.name,
        if(settings.menus_product_id_scope = 'global', anywhere.name, null)
    ) as product_name,
    own.store_id is not null as is_on_menu,
    coalesce(
        if(
            settings.menus_product_id_scope = 'global',
            anywhere.menu_count,
            own.menu_count
        ),
        0
    ) as menu_count,
    coalesce(
        if(
            settings.menus_product_id_scope = 'global',
            anywhere.name_count,
            own.name_count
        ),
        0
    ) as name_count,
from known
cross join raw.settings as settings
left join own using (store_id, product_id)
left join anywhere using (product_id)
