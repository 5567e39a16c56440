-- One row per later version of an order: its contents, those before, and what changed.
with pairs as (
    select
        order_id, version_no, content as after,
        lag(content) over in_order as before,
        first(lines_version_no) over in_order as lines_before,
    from touched.contents
    window in_order as (partition by order_id order by version_no)
)

select
    p.order_id, p.version_no,
    coalesce(p.lines_before, 1)
    + count(*) filter (where p.before.items is distinct from p.after.items) over (
        partition by p.order_id order by p.version_no rows unbounded preceding
    ) as lines_version_no,
    p.before, p.after,
    $changes as changes,
from pairs as p
left join touched.runs as r on r.kind = 'orders' and r.id = p.order_id and r.version_no = p.version_no
where p.before is not null
