-- One row per modifier of a line in each lines' version of an order whose items changed.
-- template: line_versions
with

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
