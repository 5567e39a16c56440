-- No modifier is its own descendant.
-- severity: warning
select distinct
    menu_id as entity_id,
    'product ' || product_id as location,
    'modifier ' || modifier_id as detail,
from core.modifier_paths
where is_cycle
