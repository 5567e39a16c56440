-- One row per store and business day: orders by the outcome of their last fetch.
--
-- A step: read audit.coverage instead.
-- Source: raw.order_checks, and mart.orders for store and day. Kept by day: a run counts affected days only.
--
-- key: store_id, business_date
-- scope: day
--
-- store_id: The store, as the service numbers it; null if no document states it.
-- known_count >= 1
select
    orders.store_id, orders.business_date, count(*) as known_count,
    count(*) filter (
        where checks.last_verdict in ('accepted', 'unchanged') and checks.last_source = 'live'
    ) as fetched_count,
    count(*) filter (
        where checks.last_verdict = 'unchanged' and checks.last_source = 'live'
    ) as unchanged_count,
    count(*) filter (
        where checks.last_verdict in ('accepted', 'unchanged') and checks.last_source = 'archive'
    ) as archive_count,
    count(*) filter (where checks.last_verdict = 'missing') as not_found_count,
    count(*) filter (where checks.last_verdict = 'failed') as failed_count,
    count(*) filter (where checks.last_verdict = 'quarantined') as quarantined_count,
from mart.orders as orders
inner join raw.order_checks as checks using (order_id)
group by orders.store_id, orders.business_date
