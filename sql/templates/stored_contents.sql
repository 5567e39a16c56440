-- One row per order of which a new version came: the last one that the tables have.
with modifiers as (
    select order_id, line_no, list($modifiers order by modifier_no) as modifiers
    from warehouse.core.order_line_modifiers
    where order_id in (select order_id from touched.grown)
    group by order_id, line_no
),
lines as (
    select l.order_id, list($items order by l.line_no) as items
    from warehouse.core.order_lines as l
    left join modifiers as m on m.order_id = l.order_id and m.line_no = l.line_no
    where l.order_id in (select order_id from touched.grown)
    group by l.order_id
),
deliveries as (
    select order_id, list($deliveries order by delivery_no) as deliveries
    from warehouse.core.order_deliveries
    where order_id in (select order_id from touched.grown)
    group by order_id
),
versions as (
    select order_id, max(version_no) as version_no, max(lines_version_no) as lines_version_no,
    from warehouse.core.order_versions
    where order_id in (select order_id from touched.grown)
    group by order_id
)

select
    orders.order_id, versions.version_no, versions.lines_version_no,
    struct_pack($fields),
from warehouse.core.orders as orders
inner join versions using (order_id)
left join lines using (order_id)
left join deliveries using (order_id)
