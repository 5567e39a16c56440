-- One row per modifier in a menu's modifiers dictionary.
with

entries as (
    select
        menu_id,
        unnest(map_entries(document.modifiers)) as entry,
        _load_id,
    from raw.latest_menus
)

select
    -- keys
    menu_id,
    -- the gate lets only canonical integers through
    cast(entry.key as bigint) as modifier_id,
    -- what it is
    entry.value.name as name,
    entry.value.description as description,
    -- lineage
    _load_id,
from entries
