-- One row per price in a price group of a menu, in the order of the document.
--
-- Source: prices of the price groups of get menu details.
-- Caveats: a product may have several prices: by group, channel and menu. A join to order lines by product_id alone
-- multiplies them. price and delivery_price are alternatives: never add them.
--
-- key: menu_id, group_no, price_no
-- scope: menu
-- in core.price_groups (menu_id, group_no), blocking belong_to_a_price_group: Every menu price belongs to a price group.
-- in core.products (menu_id, product_id), warning reference_a_product: Interface rule 1: every product_id in a price is a key of the menu's products.
-- unique (menu_id, price_id), warning have_unique_ids: No two prices of a menu have the same id.
-- join core.price_groups (menu_id, group_no): a price has its group
-- join core.products (menu_id, product_id): a price has its product
--
-- product_id: The product's id: a key of the same menu's products, else listed in audit.findings. Null only if the document has a null instead of a price.
-- price: The base price of the channel, in the store's currency.
-- delivery_price: The price when delivered, in place of price; may differ from it.
with groups as (
    select
        menu_id,
        generate_subscripts(document.menu.price_groups, 1) as group_no,
        unnest(document.menu.price_groups) as price_group,
        _load_id,
    from raw.latest_menus
),
prices as (
    select
        menu_id, group_no,
        generate_subscripts(price_group.prices, 1) as price_no,
        unnest(price_group.prices) as item,
        _load_id,
    from groups
)

select
    menu_id, group_no, price_no, item.price_id as price_id, item.product_id as product_id,
    item.position as position, item.channel as channel, item.price as price,
    item.delivery_price as delivery_price, _load_id,
from prices
