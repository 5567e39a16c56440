-- Every path longer than one modifier extends another path.
-- severity: blocking
select
    paths.menu_id as entity_id,
    'product ' || paths.product_id || ', path ' || cast(paths.edge_nos as varchar) as location,
from core.modifier_paths as paths
anti join core.modifier_paths as parents
    on paths.menu_id = parents.menu_id
    and paths.product_id = parents.product_id
    and paths.edge_nos[:-2] = parents.edge_nos
where paths.depth > 1
