-- One row per path from a product to a modifier below it: the expanded tree of each product in a menu.
--
-- Source: core.modifier_edges, traversed level by level.
-- Caveats: do not sum price over paths: groups and options are both rows, and a shared modifier has a row per path. A
-- join to order modifiers by modifier_id multiplies rows. Traversal stops at a repeated modifier, at a depth of 32, at
-- 10,000 paths per product and at 500,000 per menu; products cut short are listed in audit.findings.
--
-- key: menu_id, product_id, edge_nos
-- scope: menu
-- join core.products (menu_id, product_id): a path has the product at its top
-- join core.modifiers (menu_id, modifier_id): a path has the modifier at its end
--
-- product_id not null: The id of the product at the root.
-- edge_nos BIGINT[]: Edge numbers from the product: [2, 1] is the first child of its second modifier.
-- modifier_ids BIGINT[]: The ids of the modifiers on the path, including the last.
-- depth BIGINT >= 1 <= 32: Number of modifiers on the path: 1 is directly below the product.
-- modifier_id: The id of the last modifier; null if the document has a null instead of a reference.
-- is_leaf BOOLEAN: Whether it has no children: an option rather than a group.
-- is_cycle BOOLEAN: Whether it is on the path already; traversal stops there.
-- price: The modifier's price for this reference; null if the document has none.

-- A walk level by level. It stops below a modifier that stands in the path already (is_cycle), 32 modifiers deep, at
-- 10,000 paths a product and at 500,000 a menu. Levels near the product are kept whole; in the one that is cut, the
-- document's order decides. Children are counted before they are joined, so a hostile menu costs no more than the paths
-- that are kept. The claim core.modifier_paths__are_complete lists what is cut.
with recursive children as (
    select menu_id, parent_id as modifier_id, count(*) as edges,
    from core.modifier_edges where parent_type = 'modifier' group by menu_id, parent_id
),
roots as (
    select
        menu_id, parent_id as product_id, edge_no, modifier_id, price, _load_id,
        row_number() over (partition by menu_id order by parent_id, edge_no) as menu_no,
    from core.modifier_edges where parent_type = 'product' and edge_no <= 10000
),
walk as (
    select
        menu_id, product_id,
        [edge_no] as edge_nos,
        [modifier_id] as modifier_ids,
        cast(1 as bigint) as depth,
        modifier_id, price, false as is_cycle,
        count(*) over (partition by menu_id, product_id) as product_paths,
        count(*) over (partition by menu_id) as menu_paths,
        _load_id,
    from roots where menu_no <= 500000
    union all
    (
        with

        parents as (
            select
                walk.*,
                children.edges,
                sum(children.edges) over (
                    partition by walk.menu_id, walk.product_id
                    order by walk.edge_nos
                    rows unbounded preceding
                ) - children.edges as edges_before,
            from walk
            inner join children using (menu_id, modifier_id)
            where not walk.is_cycle and walk.depth < 32
        ),

        in_product as (
            select
                *,
                least(edges, greatest(0, 10000 - product_paths - edges_before)) as kept,
            from parents
        ),

        in_menu as (
            select
                *,
                500000 - menu_paths - sum(kept) over (
                    partition by menu_id
                    order by product_id, edge_nos
                    rows unbounded preceding
                ) + kept as room,
            from in_product
        )

        select
            parent.menu_id, parent.product_id,
            list_append(parent.edge_nos, edge.edge_no) as edge_nos,
            list_append(parent.modifier_ids, edge.modifier_id) as modifier_ids,
            parent.depth + 1 as depth,
            edge.modifier_id, edge.price,
            coalesce(list_contains(parent.modifier_ids, edge.modifier_id), false) as is_cycle,
            parent.product_paths + count(*) over (partition by parent.menu_id, parent.product_id) as product_paths,
            parent.menu_paths + count(*) over (partition by parent.menu_id) as menu_paths,
            parent._load_id,
        from in_menu as parent
        inner join core.modifier_edges as edge
            on parent.menu_id = edge.menu_id
            and edge.parent_type = 'modifier'
            and parent.modifier_id = edge.parent_id
        where edge.edge_no <= least(parent.kept, parent.room)
    )
)

select
    walk.menu_id, walk.product_id, walk.edge_nos, walk.modifier_ids, walk.depth, walk.modifier_id,
    children.modifier_id is null as is_leaf,
    walk.is_cycle, walk.price, walk._load_id,
from walk
left join children using (menu_id, modifier_id)
