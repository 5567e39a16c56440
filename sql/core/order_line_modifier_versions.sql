-- One row per modifier of a line in each lines' version of an order whose items ever changed.
--
-- Source: modifiers of the items of every version of the order.
-- Caveats: as with core.order_line_versions, orders whose items never changed are not here.
--
-- key: order_id, lines_version_no, line_no, modifier_no
-- scope: order
-- template: line_versions
-- join core.order_line_versions (order_id, lines_version_no, line_no): a modifier has its line as it was
--
-- name: The modifier's name when ordered.
-- quantity: Quantity of the modifier, as sent.
-- price: The modifier's price, as sent.
with modifiers as (
    select
        order_id, lines_version_no, line_no,
        generate_subscripts(item.modifiers, 1) as modifier_no,
        unnest(item.modifiers) as modifier,
    from lines
)

select
    order_id, lines_version_no, line_no, modifier_no, modifier.id as modifier_id, modifier.name as name,
    modifier.action as action, modifier.quantity as quantity, modifier.price as price,
from modifiers
