-- One row per order line, in the order of the document.
--
-- Source: items of get order details.
-- Caveats: the interface does not say whether price is per unit or per line: do not sum price times quantity from
-- here. line_id may not be unique. A join to order_line_modifiers multiplies lines.
--
-- key: order_id, line_no
-- scope: order
-- in core.orders (order_id), blocking belong_to_an_order: Every order line belongs to an order.
-- unique (order_id, line_id), warning have_unique_ids: No two lines of an order have the same id.
-- join mart.orders (order_id): a line has its order; the order's money repeats: do not sum it
-- join multiplies core.products (product_id): a product is in several menus: use mart.products
-- join multiplies core.menu_prices (product_id): a product has several prices: in several groups, channels and menus
--
-- name: The product's name when ordered.
-- price: The price of the line's product, as sent.
-- instructions VARCHAR null: The text, if [privacy] plaintext_fields names it; else null here and encrypted in the vault.
with lines as (
    select
        order_id,
        generate_subscripts(document.items, 1) as line_no,
        unnest(document.items) as item,
        _load_id,
    from raw.latest_orders
)

select
    order_id, line_no, item.id as line_id, item.product_id as product_id, item.quantity as quantity,
    item.name as name, item.price as price, item.has_instructions as has_instructions,
    item.instructions as instructions, _load_id,
from lines
