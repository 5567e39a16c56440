-- At least one menu was observed if any order was.
-- severity: warning
-- scope: all
select
    cast(null as bigint) as entity_id, 'no menu' as location,
    'products and modifiers ordered are not compared with any menu' as detail,
from raw.settings
where exists (select 1 from core.orders) and not exists (select 1 from core.menus)
