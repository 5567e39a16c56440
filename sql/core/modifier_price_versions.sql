-- One row per place of a modifier in a menu, and run of versions in which it is the same.
-- template: menu_versions
with

product_entries as (
    select
        menu_id,
        version_no,
        unnest(map_entries(document.products)) as entry,
    from raw.menu_versions
),

modifier_entries as (
    select
        menu_id,
        version_no,
        unnest(map_entries(document.modifiers)) as entry,
    from raw.menu_versions
),

edges as (
    select
        menu_id,
        version_no,
        'product' as parent_type,
        cast(entry.key as bigint) as parent_id,
        generate_subscripts(entry.value.modifiers, 1) as edge_no,
        unnest(entry.value.modifiers) as reference,
    from product_entries

    union all

    select
        menu_id,
        version_no,
        'modifier' as parent_type,
        cast(entry.key as bigint) as parent_id,
        generate_subscripts(entry.value.children, 1) as edge_no,
        unnest(entry.value.children) as reference,
    from modifier_entries
)

select
    menu_id,
    parent_type,
    parent_id,
    edge_no,
    version_no,
    reference.modifier_id as modifier_id,
    reference.price as price,
from edges
