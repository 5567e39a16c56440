-- Interface rule 3: no product of a menu is stored again, alike but for its id.
-- severity: warning
-- A repeated id cannot be seen here: the gate refuses a document with a repeated key.
with

contents as (
    select
        menu_id,
        parent_id as product_id,
        list(
            (modifier_id, position, price) order by edge_no
        ) as modifiers,
    from core.modifier_edges
    where parent_type = 'product'
    group by menu_id, parent_id
),

alike as (
    select
        products.menu_id,
        products.product_id,
        min(products.product_id) over (
            partition by
                products.menu_id,
                products.name,
                products.description,
                products.dispatch_method,
                contents.modifiers
        ) as first_id,
    from core.products as products
    left join contents
        on products.menu_id = contents.menu_id
        and products.product_id = contents.product_id
    where products.name <> ''
)

select
    menu_id as entity_id,
    'product ' || product_id as location,
    'like product ' || first_id as detail,
from alike
where product_id <> first_id
