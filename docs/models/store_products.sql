-- One row per store and product that the store sold or has on a menu, with its menu name.
--
-- Caveats: the current name; mart.product_mix has the name when ordered. If menus disagree (name_count above 1), the
-- store's own menus take precedence, then the lowest menu_id.
--
-- key: store_id, product_id
--
-- product_name VARCHAR null: The product's name; null if no menu has one.
-- is_on_menu BOOLEAN: Whether a menu of this store has the product now.
-- menu_count BIGINT >= 0: Number of menus that have it.
-- name_count BIGINT >= 0: Number of different names on those menus; above 1 one was chosen.
with in_stores as (
    select
        store_menus.store_id, products.product_id,
        arg_min(products.name, products.menu_id) as name, -- ignores menus without a name
        count(*) as menu_count,
        count(distinct products.name) as name_count,
    from core.store_menus as store_menus
    inner join core.products as products using (menu_id)
    group by store_menus.store_id, products.product_id
),

-- With [menus] product_id_scope = "per_menu" an id is another product on every menu: join in_stores in its place below.
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
    select store_id, product_id from in_stores
    union
    select store_id, product_id
    from mart.product_mix
    where store_id is not null and product_id is not null
)

select
    known.store_id,
    known.product_id,
    coalesce(in_stores.name, anywhere.name) as product_name,
    in_stores.store_id is not null as is_on_menu,
    coalesce(anywhere.menu_count, 0) as menu_count,
    coalesce(anywhere.name_count, 0) as name_count,
from known
left join in_stores using (store_id, product_id)
left join anywhere using (product_id)
