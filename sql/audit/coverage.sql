-- One row per store and business day: order ids by notification and by the outcome of their last fetch.
--
-- Source: workings.daily_fetch_outcomes, raw.states for ids without an order, webhook notifications as long as they are
-- retained ([webhooks] retention_days), and audit.control_totals. id_count = fetched_count + archive_count +
-- not_found_count + failed_count + quarantined_count + unrequested_count.
-- Caveats: an id without an accepted document has neither store nor day; it counts in the row where both are null,
-- together with known orders that state neither. The interface cannot list orders, so their true number is unknown:
-- completeness is known only for days with an imported control total.
--
-- key: store_id, business_date
--
-- store_id: The store, as the service numbers it; null if no document states it.
-- business_date: The business day of the orders; null if no document states it.
-- id_count BIGINT >= 0: Order ids that were notified, requested or landed.
-- notified_count BIGINT >= 0: Those named by a webhook notification.
-- unrequested_count BIGINT >= 0: Notified ids that have not been requested yet.
-- stale_count: Notified ids without an accepted document or a 404 since the notification: not up to date.
-- completeness_basis ENUM('control_total', 'unknown'): What completeness is measured against: control_total, or unknown without a denominator.
-- control_order_count: Order count of the control total that covers most sale classes; null without one.
-- actual_order_count null: Known orders of those classes; null without a control total.
-- completeness: actual_order_count / control_order_count, above 1 if more orders are known; null if unknown.

-- Known orders are already counted by day in workings.daily_fetch_outcomes; only ids
-- without an order and notified ids are looked up one by one.
with notifications as (
    select id as order_id, max(received_at) as last_notified_at,
    from raw.hints where kind = 'orders' group by id
),
-- requested, but no document was ever accepted: store and day are unknown
unaccepted as (
    select id as order_id, last_verdict, last_checked_at,
    from raw.states where kind = 'orders' and _payload_sha256 is null
),
notified as (
    select
        orders.store_id, orders.business_date,
        orders.order_id is null and unaccepted.order_id is null as is_new,
        notifications.last_notified_at,
        coalesce(orders.last_checked_at, unaccepted.last_checked_at) as last_checked_at,
    from notifications
    left join mart.orders as orders using (order_id)
    left join unaccepted using (order_id)
),
counted as (
    select
        store_id, business_date, known_count as id_count, known_count, fetched_count, unchanged_count,
        archive_count, not_found_count, failed_count, quarantined_count,
    from workings.daily_fetch_outcomes
    union all by name
    select
        null as store_id, null as business_date, count(*) as id_count,
        count(*) filter (where last_verdict = 'missing') as not_found_count,
        count(*) filter (where last_verdict = 'failed') as failed_count,
        count(*) filter (where last_verdict = 'quarantined') as quarantined_count,
    from unaccepted having count(*) > 0
    union all by name
    select
        store_id, business_date,
        count(*) filter (where is_new) as id_count,
        count(*) as notified_count,
        count(*) filter (where is_new) as unrequested_count,
        count(*) filter (where last_notified_at > coalesce(last_checked_at, '-infinity'::timestamptz)) as stale_count,
    from notified group by store_id, business_date
),
ids as (
    select
        store_id, business_date,
        sum(columns('_count$')),
    from counted group by store_id, business_date
),
-- the total that counts most sale classes covers most orders
totals as (
    select store_id, business_date, control_order_count, actual_order_count,
    from audit.control_totals
    where control_order_count is not null and tie_out_status <> 'unknown'
    qualify row_number() over (
        partition by store_id, business_date
        order by length(string_split(sale_classes, '+')) desc, sale_classes, amount_field
    ) = 1
)

select
    coalesce(ids.store_id, totals.store_id) as store_id,
    coalesce(ids.business_date, totals.business_date) as business_date,
    -- ids; a day without any has zero of each
    cast(coalesce(ids.id_count, 0) as bigint) as id_count,
    cast(coalesce(ids.notified_count, 0) as bigint) as notified_count,
    cast(coalesce(ids.known_count, 0) as bigint) as known_count,
    cast(coalesce(ids.fetched_count, 0) as bigint) as fetched_count,
    cast(coalesce(ids.unchanged_count, 0) as bigint) as unchanged_count,
    cast(coalesce(ids.archive_count, 0) as bigint) as archive_count,
    cast(coalesce(ids.not_found_count, 0) as bigint) as not_found_count,
    cast(coalesce(ids.failed_count, 0) as bigint) as failed_count,
    cast(coalesce(ids.quarantined_count, 0) as bigint) as quarantined_count,
    cast(coalesce(ids.unrequested_count, 0) as bigint) as unrequested_count,
    cast(coalesce(ids.stale_count, 0) as bigint) as stale_count,
    if(totals.store_id is null, 'unknown', 'control_total') as completeness_basis,
    totals.control_order_count, totals.actual_order_count,
    case
        when totals.control_order_count > 0 then totals.actual_order_count / totals.control_order_count
        when totals.actual_order_count = 0 then 1.0
    end as completeness,
from ids
full join totals using (store_id, business_date)
