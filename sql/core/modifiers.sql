-- One row per modifier in a menu's modifiers dictionary.
--
-- Source: modifiers of get menu details.
-- Caveats: a group (sizes) and its options (large) are both modifiers; only core.modifier_edges distinguishes them. A
-- modifier has no price of its own: each reference to it has one.
--
-- key: menu_id, modifier_id
-- scope: menu
-- in core.menus (menu_id), blocking belong_to_a_menu: Every modifier belongs to a menu.
--
-- modifier_id not null: The modifier's id: its key in the dictionary.
-- name: The modifier's name.
-- description: The modifier's description.
with entries as (
    select
        menu_id,
        unnest(map_entries(document.modifiers)) as entry,
        _load_id,
    from raw.latest_menus
)

select
    menu_id,
    -- the gate lets only canonical integers through
    cast(entry.key as bigint) as modifier_id,
    entry.value.name as name,
    entry.value.description as description,
    _load_id,
from entries
