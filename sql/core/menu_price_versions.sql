-- One row per place of a price in a menu, and run of versions in which it is the same.
-- template: menu_versions
with

groups as (
    select
        menu_id,
        version_no,
        generate_subscripts(document.menu.price_groups, 1) as group_no,
        unnest(document.menu.price_groups) as price_group,
    from raw.menu_versions
),

items as (
    select
        menu_id,
        version_no,
        group_no,
        generate_subscripts(price_group.prices, 1) as price_no,
        unnest(price_group.prices) as item,
    from groups
)

select
    menu_id,
    group_no,
    price_no,
    version_no,
    item.price_id as price_id,
    item.product_id as product_id,
    item.channel as channel,
    item.price as price,
    item.delivery_price as delivery_price,
from items
