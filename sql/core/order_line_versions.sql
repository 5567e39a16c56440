-- One row per line of each lines' version of an order whose items ever changed.
-- template: line_versions
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
