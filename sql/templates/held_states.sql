-- One row per order whose id came back for another one, until a person decides: its state in
-- the last version that is of the first order.
with replaced as (
    select order_id, arg_min(before.created_at, version_no) as created_at,
    from raw.order_edits
    cross join raw.settings as settings
    where is_another_order(changes) and not list_contains(settings.replaced_orders, order_id)
    group by order_id
),
held as (
    select
        order_id,
        max(edits.version_no - if(edits.after.created_at = replaced.created_at, 0, 1)) as version_no,
    from replaced
    inner join raw.order_edits as edits using (order_id)
    where replaced.created_at in (edits.before.created_at, edits.after.created_at)
    group by order_id
)

select
    states.* replace (
        runs.version_no as versions,
        runs.sha256 as sha256,
        runs.first_seen_at as fetched_at,
        runs.load_id as fetch_load_id,
        runs.customer_key as customer_key,
        runs.last_seen_at as last_good_at
    ),
from held
inner join $states as states on states.kind = 'orders' and states.id = held.order_id
inner join touched.runs as runs
    on runs.kind = 'orders' and runs.id = held.order_id and runs.version_no = held.version_no
where held.version_no < states.versions
