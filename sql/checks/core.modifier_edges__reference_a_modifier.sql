-- Interface rule 2: every modifier_id in a reference is a key of the menu's modifiers.
-- severity: warning
select
    edges.menu_id as entity_id,
    edges.parent_type || ' ' || edges.parent_id || ', edge ' || edges.edge_no as location,
    'modifier ' || edges.modifier_id as detail,
from core.modifier_edges as edges
anti join core.modifiers as modifiers using (menu_id, modifier_id)
where edges.modifier_id is not null
