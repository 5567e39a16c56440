-- One row per store and menu that the store's record names.
with

named as (
    select
        store_id,
        unnest(document.menu_ids) as menu_id,
        _load_id,
    from raw.latest_stores
)

select
    -- keys
    store_id,
    menu_id,
    -- how it is named
    count(*) as mention_count,
    -- lineage
    any_value(_load_id) as _load_id, -- one record per store: all are equal
from named
where menu_id is not null
group by store_id, menu_id
