-- One row per modifier of a line in each lines' version of an order whose items changed.
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
),

modifiers as (
    select
        order_id,
        lines_version_no,
        line_no,
        generate_subscripts(item.modifiers, 1) as modifier_no,
        unnest(item.modifiers) as modifier,
    from lines
)

select
    -- keys
    order_id,
    lines_version_no,
    line_no,
    modifier_no,
    modifier.id as modifier_id,
    -- what was chosen
    modifier.name as name,
    modifier.action as action,
    modifier.quantity as quantity,
    -- money
    modifier.price as price,
from modifiers

union all

select
    order_id,
    lines_version_no,
    line_no,
    modifier_no,
    modifier_id,
    name,
    action,
    quantity,
    price,
from core.order_line_modifier_versions -- as it was before this build
