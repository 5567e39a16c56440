-- Which modifiers does a product offer, at which prices?
select
    paths.menu_id,
    paths.product_id,
    paths.edge_nos,
    modifiers.name as modifier_name,
    paths.price,
from core.modifier_paths as paths
left join core.modifiers as modifiers
    on paths.menu_id = modifiers.menu_id and paths.modifier_id = modifiers.modifier_id
order by paths.menu_id, paths.product_id, paths.edge_nos
limit 100
