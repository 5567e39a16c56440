-- One row per later version of an order, and field that differs from the version before.
with

changed as (
    select
        order_id,
        version_no,
        unnest(changes) as change, -- of the documented fields, and hidden ones by name
    from raw.order_edits
)

select
    -- keys
    order_id,
    version_no,
    change.field as field,
    -- what was, and what is
    change.old_value as old_value,
    change.new_value as new_value,
from changed

union all

select
    order_id,
    version_no,
    field,
    old_value,
    new_value,
from core.order_changes -- as it was before this build
