-- order_lines_as_of(ts): one row per line of the orders observed by then, as they were.
-- Unknown observation times, of archives, count as earliest.
with versions as (
    select
        order_id,
        max(lines_version_no) as lines_version_no, -- rises with version_no
    from core.order_versions
    where first_seen_at is null or first_seen_at <= cast(ts as timestamp with time zone)
    group by order_id
),
changed as (select distinct order_id, from core.order_line_versions)

select
    lines.order_id, lines.lines_version_no, lines.line_no, lines.line_id, lines.product_id, lines.quantity,
    lines.name, lines.price, lines.has_instructions,
from versions
inner join core.order_line_versions as lines using (order_id, lines_version_no)
union all
-- the lines of all other orders never changed
select
    lines.order_id, versions.lines_version_no, lines.line_no, lines.line_id, lines.product_id, lines.quantity,
    lines.name, lines.price, lines.has_instructions,
from versions
inner join core.order_lines as lines using (order_id)
anti join changed using (order_id)
