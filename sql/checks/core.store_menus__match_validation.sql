-- A store names as many menus in the flat table as the gate counted in its record.
-- severity: blocking
with

flat as (
    select store_id, sum(mentions) as mentions, from core.store_menus group by store_id
)

-- coalesce: the gate counts 0 where a record names no menu
select
    stores.store_id as entity_id,
    'menu_ids' as location,
    (coalesce(flat.mentions, 0) - stores.validated_menu_ids) || ' off' as detail,
from raw.latest_stores as stores
left join flat on stores.store_id = flat.store_id
where coalesce(flat.mentions, 0) <> stores.validated_menu_ids
