-- A store's rows name as many menus as validation counted in its record.
-- severity: blocking
with flat as (select store_id, sum(mention_count) as mention_count from core.store_menus group by store_id)

-- coalesce: validation counts 0 if a record names no menu
select
    stores.store_id as entity_id, 'menu_ids' as location,
    (coalesce(flat.mention_count, 0) - stores.validated_menu_ids) || ' off' as detail,
from raw.latest_stores as stores
left join flat using (store_id)
where coalesce(flat.mention_count, 0) <> stores.validated_menu_ids
