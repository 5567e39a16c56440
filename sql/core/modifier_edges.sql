-- One row per modifier reference in a menu: of a product, or of a modifier to its child.
--
-- Source: modifiers of a product and children of a modifier of get menu details.
-- Caveats: a modifier shared by several products has a row for each of them, but its children only once. Product and
-- modifier ids overlap: a join by parent_id needs parent_type too.
--
-- key: menu_id, parent_type, parent_id, edge_no
-- scope: menu
-- join core.modifiers (menu_id, modifier_id): a reference has the modifier it names
--
-- modifier_id: The id of the referenced modifier: a key of the same menu's modifiers, else listed in audit.findings. Null only if the document has a null instead of a reference.
-- price: The modifier's price for this reference; null if the document has none.
with parents as (
    select
        menu_id, 'product' as parent_type,
        unnest(map_keys(document.products)) as parent_id,
        unnest(map_values(document.products)).modifiers as refs,
        _load_id,
    from raw.latest_menus
    union all
    select
        menu_id, 'modifier' as parent_type,
        unnest(map_keys(document.modifiers)) as parent_id,
        unnest(map_values(document.modifiers)).children as refs,
        _load_id,
    from raw.latest_menus
),
edges as (
    select
        menu_id, parent_type,
        cast(parent_id as bigint) as parent_id,
        generate_subscripts(refs, 1) as edge_no,
        unnest(refs) as reference,
        _load_id,
    from parents
)

select
    menu_id, parent_type, parent_id, edge_no, reference.modifier_id as modifier_id,
    reference.position as position, reference.price as price, _load_id,
from edges
