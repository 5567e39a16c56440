-- One row per place in the lines of each lines' version of an order whose items ever changed: `$table`.
with changed as (
    select order_id, lines_version_no, before.items as items_before, after.items as items,
    from raw.order_edits where before.items is distinct from after.items
),
documents as (
    select order_id, lines_version_no, items, from changed
    union all
    -- the lines that the order had at first, when they change for the first time
    select order_id, 1 as lines_version_no, items_before as items,
    from changed where lines_version_no = 2
),
lines as (
    select
        order_id, lines_version_no,
        generate_subscripts(items, 1) as line_no,
        unnest(items) as item,
    from documents
)

from ($select)
union all
from $table -- as it was before this build
