-- One row per product of a menu, and run of versions in which it is the same.
-- template: menu_versions
with

entries as (
    select
        menu_id,
        version_no,
        unnest(map_entries(document.products)) as entry,
    from raw.menu_versions
)

select
    menu_id,
    cast(entry.key as bigint) as product_id,
    version_no,
    entry.value.name as name,
    entry.value.description as description,
    entry.value.dispatch_method as dispatch_method,
from entries
