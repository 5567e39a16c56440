-- One row per modifier reference in a menu, below a product or below a modifier.
with

product_entries as (
    select
        menu_id,
        unnest(map_entries(document.products)) as entry,
        _load_id,
    from raw.latest_menus
),

modifier_entries as (
    select
        menu_id,
        unnest(map_entries(document.modifiers)) as entry,
        _load_id,
    from raw.latest_menus
),

edges as (
    select
        menu_id,
        'product' as parent_type,
        cast(entry.key as bigint) as parent_id,
        generate_subscripts(entry.value.modifiers, 1) as edge_no,
        unnest(entry.value.modifiers) as reference,
        _load_id,
    from product_entries

    union all

    select
        menu_id,
        'modifier' as parent_type,
        cast(entry.key as bigint) as parent_id,
        generate_subscripts(entry.value.children, 1) as edge_no,
        unnest(entry.value.children) as reference,
        _load_id,
    from modifier_entries
)

select
    -- keys
    menu_id,
    parent_type,
    parent_id,
    edge_no,
    reference.modifier_id as modifier_id,
    -- where it stands
    reference.position as position,
    -- money
    reference.price as price,
    -- lineage
    _load_id,
from edges
