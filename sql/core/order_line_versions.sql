-- One row per line of each lines' version of an order whose items ever changed.
with

changed as (
    select
        order_id,
        lines_version_no,
        before.items as items_before,
        after.items as items,
    from raw.order_edits
    where before.items is distinct from after.items
),

documents as (
    select
        order_id,
        lines_version_no,
        items,
    from changed

    union all

    -- the lines that the order had at first, when they change for the first time
    select
        order_id,
        1 as lines_version_no,
        items_before as items,
    from changed
    where lines_version_no = 2
),

lines as (
    select
        order_id,
        lines_version_no,
        generate_subscripts(items, 1) as line_no,
        unnest(items) as item,
    from documents
)

select
    -- keys
    order_id,
    lines_version_no,
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
from lines

union all

select
    order_id,
    lines_version_no,
    line_no,
    line_id,
    product_id,
    quantity,
    name,
    price,
    has_instructions,
from core.order_line_versions -- as it was before this build
