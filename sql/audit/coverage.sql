-- One row per store and business day: what was announced, what is held, and how the last asking for each id ended.
--
-- Orders are counted by day before, in audit.daily_fetch_outcomes; here only what stands on no
-- order, and what webhooks named, is looked up by id.
with

hints as (
    select
        id as order_id,
        max(received_at) as last_hinted_at,
    from raw.hints
    where kind = 'orders'
    group by id
),

-- asked for, and nothing was ever accepted: no document says the store or the day
strangers as (
    select
        id as order_id,
        last_verdict,
        last_checked_at,
    from raw.states
    where kind = 'orders' and _payload_sha256 is null
),

hinted as (
    select
        orders.store_id,
        orders.business_date,
        orders.order_id is null and strangers.order_id is null as is_new,
        hints.last_hinted_at,
        coalesce(orders.last_checked_at, strangers.last_checked_at) as last_checked_at,
    from hints
    left join mart.orders as orders on hints.order_id = orders.order_id
    left join strangers on hints.order_id = strangers.order_id
),

counted as (
    select
        store_id,
        business_date,
        known as ids,
        0 as hinted,
        known,
        fetched,
        unchanged,
        archive_count,
        missing,
        failed,
        quarantined,
        0 as unrequested_count,
        0 as stale,
    from audit.daily_fetch_outcomes

    union all

    select
        null as store_id,
        null as business_date,
        count(*) as ids,
        0 as hinted,
        0 as known,
        0 as fetched,
        0 as unchanged,
        0 as archive_count,
        count(*) filter (where last_verdict = 'missing') as missing,
        count(*) filter (where last_verdict = 'failed') as failed,
        count(*) filter (where last_verdict = 'quarantined') as quarantined,
        0 as unrequested_count,
        0 as stale,
    from strangers
    having count(*) > 0

    union all

    select
        store_id,
        business_date,
        count(*) filter (where is_new) as ids,
        count(*) as hinted,
        0 as known,
        0 as fetched,
        0 as unchanged,
        0 as archive_count,
        0 as missing,
        0 as failed,
        0 as quarantined,
        count(*) filter (where is_new) as unrequested_count,
        count(*) filter (
            where last_hinted_at > coalesce(last_checked_at, '-infinity'::timestamptz)
        ) as stale,
    from hinted
    group by store_id, business_date
),

ids as (
    select
        store_id,
        business_date,
        cast(sum(ids) as bigint) as ids,
        cast(sum(hinted) as bigint) as hinted,
        cast(sum(known) as bigint) as known,
        cast(sum(fetched) as bigint) as fetched,
        cast(sum(unchanged) as bigint) as unchanged,
        cast(sum(archive_count) as bigint) as archive_count,
        cast(sum(missing) as bigint) as missing,
        cast(sum(failed) as bigint) as failed,
        cast(sum(quarantined) as bigint) as quarantined,
        cast(sum(unrequested_count) as bigint) as unrequested_count,
        cast(sum(stale) as bigint) as stale,
    from counted
    group by store_id, business_date
),

-- the total that counts most sale classes says most about completeness
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
    -- keys
    coalesce(ids.store_id, totals.store_id) as store_id,
    coalesce(ids.business_date, totals.business_date) as business_date,
    -- ids; none of that day is zero of each
    coalesce(ids.ids, 0) as ids,
    coalesce(ids.hinted, 0) as hinted,
    coalesce(ids.known, 0) as known,
    coalesce(ids.fetched, 0) as fetched,
    coalesce(ids.unchanged, 0) as unchanged,
    coalesce(ids.archive_count, 0) as archive_count,
    coalesce(ids.missing, 0) as missing,
    coalesce(ids.failed, 0) as failed,
    coalesce(ids.quarantined, 0) as quarantined,
    coalesce(ids.unrequested_count, 0) as unrequested_count,
    coalesce(ids.stale, 0) as stale,
    -- completeness
    if(totals.store_id is null, 'unknown', 'control_total') as completeness_basis,
    totals.control_order_count,
    totals.actual_order_count,
    case
        when totals.control_order_count > 0 then totals.actual_order_count / totals.control_order_count
        when totals.actual_order_count = 0 then 1.0
    end as completeness,
from ids
full join totals
    on ids.store_id = totals.store_id
    and ids.business_date = totals.business_date
