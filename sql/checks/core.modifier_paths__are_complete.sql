-- Every path below a product is listed: none was cut by the limits on depth or number.
-- severity: warning
with edges as (
    select menu_id, parent_type, parent_id, count(*) as edge_count,
    from core.modifier_edges group by menu_id, parent_type, parent_id
),
walked as (
    select
        paths.menu_id, paths.product_id, count(*) as path_count,
        -- every child of a path's end needs a path of its own, unless the path is a cycle
        coalesce(sum(edges.edge_count) filter (where not paths.is_cycle), 0) as child_count,
    from core.modifier_paths as paths
    left join edges
        on paths.menu_id = edges.menu_id
        and edges.parent_type = 'modifier'
        and paths.modifier_id = edges.parent_id
    group by paths.menu_id, paths.product_id
)

select
    edges.menu_id as entity_id,
    'product ' || edges.parent_id as location,
    coalesce(walked.path_count, 0) || ' paths kept' as detail,
from edges
left join walked on edges.menu_id = walked.menu_id and edges.parent_id = walked.product_id
where
    edges.parent_type = 'product'
    and coalesce(walked.path_count, 0) <> edges.edge_count + coalesce(walked.child_count, 0)
