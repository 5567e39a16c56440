-- Interface rule 3: a menu stores each product, and each modifier with children, once.
-- severity: warning
-- Validation rejects repeated keys, so duplicates differ in their ids alone. Options
-- without children are no duplicates: every group may have a 'large' of its own.
with children as (
    select
        menu_id, parent_type, parent_id,
        list((modifier_id, position, price) order by edge_no) as children,
    from core.modifier_edges group by menu_id, parent_type, parent_id
),
entries as (
    select
        menu_id, 'product' as entry_type, product_id as entry_id, name, description, dispatch_method,
    from core.products
    union all
    select
        menu_id, 'modifier' as entry_type, modifier_id as entry_id, name, description, null as dispatch_method,
    from core.modifiers
),
compared as (
    select
        entries.menu_id, entries.entry_type, entries.entry_id,
        min(entries.entry_id) over (
            partition by
                entries.menu_id,
                entries.entry_type,
                entries.name,
                entries.description,
                entries.dispatch_method,
                children.children
        ) as first_id,
    from entries
    left join children
        on entries.menu_id = children.menu_id
        and entries.entry_type = children.parent_type
        and entries.entry_id = children.parent_id
    where
        entries.name <> ''
        and (entries.entry_type = 'product' or children.children is not null)
)

select
    menu_id as entity_id,
    entry_type || ' ' || entry_id as location,
    'identical to ' || entry_type || ' ' || first_id as detail,
from compared
where entry_id <> first_id
