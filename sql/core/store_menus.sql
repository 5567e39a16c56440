-- One row per store and menu that the store's record names.
--
-- Source: the fields of the store record at [partner.store] menu_id_pointers.
-- Caveats: a store may have several menus and a menu several stores: a join to orders by store_id multiplies them. The
-- menu need not have been fetched.
--
-- key: store_id, menu_id
-- scope: store
-- in core.stores (store_id), blocking belong_to_a_store: Every store that names a menu has a row in core.stores.
-- in core.menus (menu_id), warning reference_a_known_menu: Every menu that a store names was observed.
-- join core.stores (store_id): a menu that a store names has the store
-- join core.menus (menu_id): a menu that a store names has its name, where it was observed
--
-- store_id not null: The store, as the service numbers it.
-- mention_count BIGINT >= 1: How many times the record names this menu; above 1 is unusual but valid.
with named as (
    select
        store_id,
        unnest(document.menu_ids) as menu_id,
        _load_id,
    from raw.latest_stores
)

select
    store_id, menu_id, count(*) as mention_count,
    any_value(_load_id) as _load_id, -- one record per store: all are equal
from named
where menu_id is not null
group by store_id, menu_id
