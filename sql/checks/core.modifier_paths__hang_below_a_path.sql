-- Every path but those directly below a product has the path above it.
-- severity: blocking
select
    paths.menu_id as entity_id,
    'product ' || paths.product_id || ', path ' || cast(paths.path as varchar) as location,
from core.modifier_paths as paths
anti join core.modifier_paths as above
    on paths.menu_id = above.menu_id
    and paths.product_id = above.product_id
    and paths.path[:-2] = above.path
where paths.depth > 1
