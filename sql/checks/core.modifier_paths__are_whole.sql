-- Every path down a product's modifiers is written out, none cut for depth or number.
-- severity: warning
with

edges as (
    select
        menu_id,
        parent_type,
        parent_id,
        count(*) as edges,
    from core.modifier_edges
    group by menu_id, parent_type, parent_id
),

walked as (
    select
        paths.menu_id,
        paths.product_id,
        count(*) as paths,
        -- below every path that is no cycle, all children are due
        coalesce(sum(edges.edges) filter (where not paths.is_cycle), 0) as due,
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
    coalesce(walked.paths, 0) || ' paths kept' as detail,
from edges
left join walked
    on edges.menu_id = walked.menu_id
    and edges.parent_id = walked.product_id
where
    edges.parent_type = 'product'
    and coalesce(walked.paths, 0) <> edges.edges + coalesce(walked.due, 0)
