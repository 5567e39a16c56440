-- One row per line of each lines' version of an order whose items ever changed, the present ones included.
--
-- Source: items of every version of the order.
-- Caveats: an order whose items never changed has no rows here: its lines are core.order_lines. Versions in which
-- other things changed share a lines' version. Macro order_lines_as_of(ts) knows both.
--
-- key: order_id, lines_version_no, line_no
-- scope: order
-- template: line_versions
--
-- name: The product's name when ordered.
-- price: The price of the line's product, as sent.
select
    order_id, lines_version_no, line_no, item.id as line_id, item.product_id as product_id,
    item.quantity as quantity, item.name as name, item.price as price,
    item.has_instructions as has_instructions,
from lines
