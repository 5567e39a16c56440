-- One row per modifier of an order line, in the order of the document.
--
-- Source: modifiers of the items of get order details.
-- Caveats: the interface does not say whether price counts once, per unit of the modifier or per unit of the line. A
-- line may have the same modifier several times.
--
-- key: order_id, line_no, modifier_no
-- scope: order
-- in core.order_lines (order_id, line_no), blocking belong_to_a_line: Every modifier of an order belongs to a line.
-- join core.order_lines (order_id, line_no): a modifier has its line; the line's quantity and price repeat: do not sum them
-- join mart.orders (order_id): a modifier has its order; the order's money repeats: do not sum it
-- join multiplies core.modifier_edges (modifier_id): a modifier is in several places
-- join multiplies core.modifier_paths (modifier_id): a modifier is reached by several paths
--
-- name: The modifier's name when ordered.
-- quantity: Quantity of the modifier, as sent.
-- price: The modifier's price, as sent.
with lines as (
    select
        order_id,
        generate_subscripts(document.items, 1) as line_no,
        unnest(document.items) as item,
        _load_id,
    from raw.latest_orders
),
modifiers as (
    select
        order_id, line_no, item.product_id as product_id,
        generate_subscripts(item.modifiers, 1) as modifier_no,
        unnest(item.modifiers) as modifier,
        _load_id,
    from lines
)

select
    order_id, line_no, modifier_no, product_id, modifier.id as modifier_id, modifier.name as name,
    modifier.action as action, modifier.quantity as quantity, modifier.price as price, _load_id,
from modifiers
