-- One row per product in a menu's products dictionary.
with

entries as (
    select
        menu_id,
        unnest(map_entries(document.products)) as entry,
        _load_id,
    from raw.latest_menus
)

select
    -- keys
    menu_id,
    -- the gate lets only canonical integers through
    cast(entry.key as bigint) as product_id,
    -- what it is
    entry.value.name as name,
    entry.value.description as description,
    entry.value.dispatch_method as dispatch_method,
    -- lineage
    _load_id,
from entries
