-- One row per later version of an order, and field in which it differs from the version before.
--
-- Source: the documents of the two versions.
-- Caveats: personal and encrypted fields are listed by name only, and so are items and deliveries: their rows are in
-- core.order_line_versions and core.delivery_status_observations. An absent array is an empty one, and two ways to
-- write one number or instant are no change.
--
-- key: order_id, version_no, field
-- scope: order
-- join core.order_versions (order_id, version_no): a change has its version; the version's money repeats: do not sum it
--
-- version_no >= 2: The later of the two versions.
-- field VARCHAR: The field's name in the interface; for encrypted ones with * for array positions.
-- old_value VARCHAR null: The value before, as text; null if there was none, and if only the name is listed.
-- new_value VARCHAR null: The value since, as text; null if there is none, and if only the name is listed.
with changed as (
    select
        order_id, version_no,
        unnest(changes) as change, -- of the documented fields, and hidden ones by name
    from raw.order_edits
)

select
    order_id, version_no, change.field as field, change.old_value as old_value, change.new_value as new_value,
from changed
union all
select order_id, version_no, field, old_value, new_value,
from core.order_changes -- as it was before this build
