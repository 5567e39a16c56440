-- One row per price group of a menu, in the order of the document.
--
-- Source: menu.price_groups of get menu details.
-- Caveats: price_group_id may not be unique: join by menu_id and group_no.
--
-- key: menu_id, group_no
-- scope: menu
-- in core.menus (menu_id), blocking belong_to_a_menu: Every price group belongs to a menu.
-- unique (menu_id, price_group_id), warning have_unique_ids: No two price groups of a menu have the same id.
-- join core.menus (menu_id): a price group has its menu
--
-- price_group_id BIGINT null: The price group's id.
-- name: The group's name, such as a section heading of the menu.
with groups as (
    select
        menu_id,
        generate_subscripts(document.menu.price_groups, 1) as group_no,
        unnest(document.menu.price_groups) as price_group,
        _load_id,
    from raw.latest_menus
)

select
    menu_id, group_no, price_group.id as price_group_id, price_group.name as name,
    price_group.position as position, _load_id,
from groups
