-- One row per order line, in the order of the document.
with

latest as (
    select order_id, document.items as items, _load_id, from raw.latest_orders
),

lines as (
    select
        order_id,
        generate_subscripts(items, 1) as line_no,
        unnest(items) as item,
        _load_id,
    from latest
)

select
    -- keys
    order_id,
    line_no,
    item.id as line_id,
    item.product_id as product_id,
    -- what was sold
    item.quantity as quantity,
    item.name as name,
    -- money
    item.price as price,
    -- what the vault holds
    item.has_instructions as has_instructions,
    item.instructions as instructions,
    -- lineage
    _load_id,
from lines
