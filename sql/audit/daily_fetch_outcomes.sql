-- One row per store and business day: how the last asking for each of its orders ended.
with

checks as (
    select
        order_id,
        last_verdict,
        last_verdict in ('accepted', 'unchanged') as is_good,
        last_source,
    from raw.order_checks
)

select
    -- keys
    orders.store_id,
    orders.business_date,
    -- orders
    count(*) as known,
    count(*) filter (where checks.is_good and checks.last_source = 'live') as fetched,
    count(*) filter (
        where checks.last_verdict = 'unchanged' and checks.last_source = 'live'
    ) as unchanged,
    count(*) filter (where checks.is_good and checks.last_source = 'archive')
        as archive_count,
    count(*) filter (where checks.last_verdict = 'missing') as missing,
    count(*) filter (where checks.last_verdict = 'failed') as failed,
    count(*) filter (where checks.last_verdict = 'quarantined') as quarantined,
from mart.orders as orders
inner join checks on orders.order_id = checks.order_id
group by orders.store_id, orders.business_date
