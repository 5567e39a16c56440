-- One row per price in a price group of a menu, in the order of the document.
with

groups as (
    select
        menu_id,
        generate_subscripts(document.menu.price_groups, 1) as group_no,
        unnest(document.menu.price_groups) as price_group,
        _load_id,
    from raw.latest_menus
),

prices as (
    select
        menu_id,
        group_no,
        generate_subscripts(price_group.prices, 1) as price_no,
        unnest(price_group.prices) as item,
        _load_id,
    from groups
)

select
    -- keys
    menu_id,
    group_no,
    price_no,
    item.price_id as price_id,
    item.product_id as product_id,
    -- where it holds
    item.position as position,
    item.channel as channel,
    -- money
    item.price as price,
    item.delivery_price as delivery_price,
    -- lineage
    _load_id,
from prices
