-- Every modifier reference belongs to a product or modifier of its menu.
-- severity: blocking
with parents as (
    select menu_id, 'product' as parent_type, product_id as parent_id from core.products
    union all
    select menu_id, 'modifier' as parent_type, modifier_id as parent_id from core.modifiers
)

select
    edges.menu_id as entity_id,
    edges.parent_type || ' ' || edges.parent_id || ', edge ' || edges.edge_no as location,
from core.modifier_edges as edges
anti join parents using (menu_id, parent_type, parent_id)
