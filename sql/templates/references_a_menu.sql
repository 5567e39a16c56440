-- Every ordered $entity is on a menu.
-- severity: warning
-- On any menu, or on one of the store's own if [menus] product_id_scope is per_menu. If no menu
-- was observed, core.menus__were_observed or core.stores__have_a_known_menu reports it.
with known as (
    select
        null::bigint as store_id,
        ${entity}_id,
    from core.${entity}s
    union
    select
        store_menus.store_id,
        things.${entity}_id,
    from core.store_menus as store_menus
    inner join core.${entity}s as things on store_menus.menu_id = things.menu_id
),
comparable as (
    select null::bigint as store_id, from core.menus
    union
    select store_menus.store_id,
    from core.store_menus as store_menus inner join core.menus as menus using (menu_id)
),
-- none of their menus was observed
unobserved as (select stores.store_id from core.stores as stores anti join comparable using (store_id)),
-- for speed: with global ids, whatever is on a menu needs no join
named as (
    select things.${entity}_id,
    from core.${entity}s as things
    cross join raw.settings as settings
    where settings.menus_product_id_scope = 'global'
),
ordered as (
    select
        sold.order_id,
        $location as location,
        sold.${entity}_id,
        if(settings.menus_product_id_scope = 'per_menu', orders.store_id, null) as store_id,
        settings.menus_product_id_scope = 'per_menu' and orders.store_id is null as is_storeless,
    from $sold as sold
    anti join named on sold.${entity}_id = named.${entity}_id
    inner join core.orders as orders using (order_id)
    cross join raw.settings as settings
    anti join unobserved using (store_id)
    where sold.${entity}_id is not null
)

select
    ordered.order_id as entity_id, ordered.location,
    '$entity ' || ordered.${entity}_id as detail,
from ordered
semi join comparable on ordered.store_id is not distinct from comparable.store_id
anti join known
    on ordered.store_id is not distinct from known.store_id and ordered.${entity}_id = known.${entity}_id
where not ordered.is_storeless
