-- Interface rule 3: no modifier with children is stored again, alike but for its id.
-- severity: warning
-- Options without children are left out: every group may have a 'large' of its own.
with

contents as (
    select
        menu_id,
        parent_id as modifier_id,
        list(
            (modifier_id, position, price) order by edge_no
        ) as children,
    from core.modifier_edges
    where parent_type = 'modifier'
    group by menu_id, parent_id
),

alike as (
    select
        modifiers.menu_id,
        modifiers.modifier_id,
        min(modifiers.modifier_id) over (
            partition by
                modifiers.menu_id,
                modifiers.name,
                modifiers.description,
                contents.children
        ) as first_id,
    from core.modifiers as modifiers
    inner join contents
        on modifiers.menu_id = contents.menu_id
        and modifiers.modifier_id = contents.modifier_id
    where modifiers.name <> ''
)

select
    menu_id as entity_id,
    'modifier ' || modifier_id as location,
    'like modifier ' || first_id as detail,
from alike
where modifier_id <> first_id
